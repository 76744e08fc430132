// SPDX-License-Identifier: Apache-2.0
//
// binade report: what dies in which format, how much of the norm, and which loss scale saves it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/cli/report_options.h"
#include "lib/cli/report_outputs.h"
#include "lib/io/output_paths.h"
#include "lib/io/tensor_file.h"
#include "lib/report/diff.h"
#include "lib/report/json.h"
#include "lib/report/parts.h"
#include "lib/text/error.h"

namespace binade {
namespace {

struct ReportArguments {
  std::vector<std::string> inputs;
  ReportOutputs outputs;
  ReportWords words;
  std::string part;
  bool diff = false;
  DeviceOption device;
};

/// "2/8"
PartOf parse_part(const std::string& text) {
  const auto number = [](std::string_view digits) {
    std::uint64_t out = 0;
    const char* const end = digits.data() + digits.size();
    const auto [read, error] = std::from_chars(digits.data(), end, out);
    return error == std::errc() && read == end ? out : 0;
  };
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view whole(text);
  const PartOf out{number(whole.substr(0, slash)),
                   slash == text.size() ? 0 : number(whole.substr(slash + 1))};
  if (out.part == 0 || out.part > out.parts || out.parts > most_parts) {
    throw Error(fmt::format("--part {}: give which part of how many, as in 2/8; at most {}",
                            printable(text), most_parts));
  }
  return out;
}

int make_part(const ReportArguments& arguments, const std::vector<std::string>& files,
              const ReportOptions& options, Device* device) {
  const PartOf part = parse_part(arguments.part);
  if (arguments.outputs.html.empty()) {
    throw Error(fmt::format("--part {}: name the part's file with -o", arguments.part));
  }
  ProgressLine line;
  write_part(
      files, options, part, arguments.outputs.html,
      [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); }, device);
  return 0;
}

int make(const ReportArguments& arguments) {
  const ReportOutputs& outputs = arguments.outputs;
  refuse_two_on_stdout(outputs);
  const ReportOptions options = report_options(arguments.words);
  OpenedDevice opened;
  if (arguments.device.asked()) {
    opened = open_chosen_device(arguments.device);
    if (!opened.device) return no_hardware(report_schema, opened.why_none, outputs.json == "-");
  }
  const std::vector<std::string> files = expand_paths(arguments.inputs);
  std::vector<InputPath> read;
  for (const std::string& file : files) read.push_back({"FILE", file});
  prepare_report_outputs(outputs, read);
  if (!arguments.part.empty()) return make_part(arguments, files, options, opened.device.get());
  const ReportInputs inputs = open_inputs(files, options);
  ReportWriter writer(outputs, inputs.options);
  Report report;
  std::size_t of_f32 = 0;
  {
    ProgressLine line;
    report = read_report(
        inputs, [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); },
        opened.device.get(),
        [&](const TensorReport& tensor) {
          of_f32 += tensor.dtype == "F32" ? 1 : 0;
          writer.add(tensor);
        });
  }
  std::string on_device;
  if (opened.device) {
    on_device = tensors_on_device("counted", *opened.device, of_f32, report.rows.size());
  }
  writer.write(report, on_device);
  return 0;
}

int compare(const ReportArguments& arguments) {
  if (arguments.inputs.size() != 2) {
    throw Error(
        "--diff takes two reports in JSON, or runs: binade report --diff before.json after.json");
  }
  const ReportDiff diff =
      diff_reports(load_report(arguments.inputs[0]), load_report(arguments.inputs[1]));
  fmt::print("{}", diff.text);
  return diff.different ? exit_different : 0;
}

void define_report(App app, int& status) {
  const auto a = std::make_shared<ReportArguments>();
  app.add_option(
         "FILE", a->inputs,
         ".safetensors, .npy, .npz, torch.save's .pt, a sharded model's .index.json, a folder of "
         "torch.distributed.checkpoint, a watched run's .binade, or globs; - for standard input")
      .required();
  add_report_outputs(app, a->outputs);
  app.add_option("--headroom", a->words.headroom,
                 "binades kept free below overflow when choosing a scale")
      .capture_default_str()
      .within(0, most_headroom);
  app.add_option("--target-loss", a->words.target_loss,
                 "largest acceptable lost l2 of a tensor, a share")
      .capture_default_str();
  app.add_option("--prefer", a->words.prefer,
                 "which end of the interval of loss scales to recommend")
      .capture_default_str()
      .one_of({"s_max", "s_min"});
  app.add_option("--formats", a->words.formats, "only these of binary16,bfloat16,tf32,e5m2,e4m3")
      .delimiter(',');
  app.add_option("--sqnr-scale", a->words.scales,
                 "log2 of scales at which SQNR is measured, besides 0: --sqnr-scale 8,16")
      .delimiter(',')
      .within(lowest_scale_log2, highest_scale_log2);
  app.add_option("--dtype", a->words.dtype,
                 "what raw .npy arrays (V1, V2) hold: bfloat16, float8_e4m3fn, …");
  app.add_option("--role", a->words.roles,
                 "ROLE=REGEX: names in which the extended regular expression is found have the "
                 "role; the first that "
                 "fits, before what names tell by themselves")
      .expected(1)
      .take_all()
      .allow_extra_args(false);
  add_text_options(app, a->outputs);
  const Option part = app.add_option("--part", a->part,
                                     "I/N: count only the I-th of N shares of the tensors, into "
                                     "the file of -o: a part for binade merge");
  for (const char* other : {"--json", "--csv", "--tensors"}) part.excludes(std::string(other));
  add_on_device_options(app, a->device, "tensors of F32 are counted there, others here");
  const Option diff = app.add_flag(
      "--diff", a->diff,
      "compare two reports in JSON, or watched runs, on the terminal; exits 1 if they differ");
  for (const char* other : {"--html", "--json", "--csv", "--headroom", "--target-loss", "--prefer",
                            "--formats", "--sqnr-scale", "--dtype", "--role", "--tensors",
                            "--quiet", "--part", "--device", "--emulated"}) {
    diff.excludes(std::string(other));
  }
  app.footer(
      "\nNames tell what a tensor is, by their parts between / . : and by a part's end; gradients "
      "alone set the "
      "loss scale:\n"
      "  dW      fc1.weight.grad, fc1/dW, fc1_weight_grad, grads/fc1.bias, wgrad, grad_weight\n"
      "  dAct    fc1.act.grad, fc1/dAct, logits.grad, dgrad, grad_input, grad_output\n"
      "  grad    a gradient of something else: fc1.grad, gradients/fc1, fc1.main_grad\n"
      "  weight  weight, bias, kernel, param     act     act, activation, input, output, hidden, "
      "logits\n"
      "  state   exp_avg, momentum_buffer, …     update  update, subtracted from the weight\n"
      "  other   what tells nothing\n"
      "Where a file is named grads, gradients, … and no name in it tells a gradient, all its "
      "weights, activations\n"
      "and others are gradients. Where nothing tells one, all tensors are taken as if they were, "
      "which the report says.\n\n"
      "Files of torch's: of a .pt, .pth, .bin or .ckpt nothing is run. Dicts and lists give names "
      "joined by dots\n"
      "(optimizer.state.0.exp_avg); numbers, texts, argparse.Namespace and NumPy's arrays beside "
      "tensors are passed over,\n"
      "other objects refused by name. An index (model.safetensors.index.json, "
      "pytorch_model.bin.index.json) stands for\n"
      "all its shards, a folder with .metadata for its tensors, whole.\n\n"
      "Time: names step<digits>/… of two steps or more, in one file or many, give figures over the "
      "steps, by role and\n"
      "layer: step000440/fc1/dW (layer fc1), step440/fc1.weight.grad (layer fc1.weight); a weight "
      "and its update are\n"
      "held against each other. binade train --dump writes such files.\n\n"
      "Watched runs: a run.binade of binade.torch.watch holds what was counted while a run went "
      "on, "
      "by window of steps,\n"
      "layer and role, which it tells itself: --role does not apply. It has SQNR where it was "
      "watched with sqnr=True.\n\n"
      "Examples:\n"
      "  binade report grads.safetensors -o report.html\n"
      "  binade report dump.npz --role 'grad=^g[.]' --role 'other=^debug'\n"
      "  binade report checkpoint.pt --role 'state=^optimizer[.]'\n"
      "  binade report run.binade -o run.html\n"
      "  binade report run/*.safetensors --part 2/8 -o part2.bin   (binade merge part*.bin -o "
      "run.html)\n"
      "  zcat grads.npy.gz | binade report -");
  app.callback([a, &status] { status = a->diff ? compare(*a) : make(*a); });
}

}  // namespace

const Command report_command{
    "report", "what dies in FP16, BF16, FP8, and which loss scale saves it", &define_report};

}  // namespace binade
