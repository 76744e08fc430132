// SPDX-License-Identifier: Apache-2.0
//
// `binade report`: which values of tensors become zero, subnormal or infinite in which format, how
// much of the norm that is, and which loss scale prevents it.
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
#include "lib/cli/report_outputs.h"
#include "lib/cli/suggestions.h"
#include "lib/io/file_format.h"
#include "lib/io/output_paths.h"
#include "lib/io/tensor_file.h"
#include "lib/report/diff.h"
#include "lib/report/json.h"
#include "lib/report/parts.h"
#include "lib/report/report_words.h"
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

/// The part that "2/8" means, the second of eight. Throws Error for other texts.
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

void make_part(const ReportArguments& arguments, const std::vector<std::string>& files,
               const ReportOptions& options, Device* device) {
  const PartOf part = parse_part(arguments.part);
  if (arguments.outputs.html.empty()) {
    throw Error(fmt::format("--part {}: name the part's file with -o", arguments.part));
  }
  ProgressLine line;
  write_part(
      files, options, part, arguments.outputs.html,
      [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); }, device);
}

/// Counts all tensors of the inputs, on the device those of F32 if there is one, and writes the
/// outputs.
void make_whole(const ReportArguments& arguments, const std::vector<std::string>& files,
                const ReportOptions& options, Device* device) {
  const ReportInputs inputs = open_inputs(files, options);
  ReportWriter writer(arguments.outputs, inputs.options);
  std::size_t of_f32 = 0;
  TensorSink sink = writer.sink();
  if (device != nullptr) {
    sink = [&of_f32, write = std::move(sink)](const TensorReport& tensor) {
      of_f32 += tensor.dtype == "F32" ? 1 : 0;
      if (write) write(tensor);
    };
  }
  const Report report = [&] {
    ProgressLine line;
    return read_report(
        inputs, [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); },
        device, sink);
  }();
  writer.write(report, device == nullptr
                           ? ""
                           : tensors_on_device("counted", *device, of_f32, report.rows.size()));
}

int make(const ReportArguments& arguments) {
  check_stdout(arguments.outputs);
  const ReportOptions options = report_options(arguments.words);
  const bool asked = arguments.device.asked();
  const OpenedDevice opened = asked ? open_chosen_device(arguments.device) : OpenedDevice{};
  if (asked && !opened.device) {
    return no_hardware(report_schema, opened.why_none, arguments.outputs.json == "-");
  }
  const std::vector<std::string> files = expand_paths(arguments.inputs);
  std::vector<InputPath> read;
  for (const std::string& file : files) read.push_back({"FILE", file});
  prepare_report_outputs(arguments.outputs, read);
  const auto& write = arguments.part.empty() ? make_whole : make_part;
  write(arguments, files, options, opened.device.get());
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
  app.add_option("FILE", a->inputs,
                 "files of tensors: " + files_of_tensors() +
                     ", or a watched run's .binade; globs of them; or - for standard input")
      .suggest_files()
      .required();
  add_report_outputs(app, a->outputs);
  app.add_option(
         "--headroom", a->words.headroom,
         "how many binades a loss scale leaves free between the largest gradient and overflow")
      .capture_default_str()
      .within(0, most_headroom);
  app.add_option("--target-loss", a->words.target_loss,
                 "the largest share of a tensor's l2 norm that may become zero at the loss scale, "
                 "from 0 to below 1")
      .capture_default_str();
  app.add_option("--target-sqnr", a->words.target_sqnr,
                 "the smallest signal-to-quantization-noise ratio, in dB from 0 to 300, that the "
                 "narrowest format must keep in every activation, gradient and update")
      .capture_default_str();
  app.add_option("--target-weight-sqnr", a->words.target_weight_sqnr,
                 "the same of weights, states of the optimizer and tensors without a role")
      .capture_default_str();
  app.add_option(
         "--prefer", a->words.prefer,
         "which of the good loss scales to recommend: the largest, the smallest, or the largest "
         "less a margin, of "
         "as many binades as the largest gradients of a run lie above those of its usual step")
      .capture_default_str()
      .one_of({"margin", "s_max", "s_min"});
  app.add_option("--formats", a->words.formats,
                 "report only on these formats, separated by commas (default: "
                 "binary16,bfloat16,tf32,e5m2,e4m3)")
      .suggest(report_format_words)
      .delimiter(',');
  app.add_option("--sqnr-scale", a->words.scales,
                 "log2 of loss scales, such as 8,16, at which the signal-to-quantization-noise "
                 "ratio (SQNR) is measured, beside 0")
      .delimiter(',')
      .within(lowest_scale_log2, highest_scale_log2);
  app.add_option("--dtype", a->words.dtype,
                 "dtype of the elements of .npy files that hold raw bytes (V1, V2), such as "
                 "bfloat16 or float8_e4m3fn")
      .suggest(dtype_words);
  app.add_option("--role", a->words.roles,
                 "a rule ROLE=REGEX: a tensor in whose name the regular expression (RE2's syntax: "
                 "Perl's without back references) is found has the role, whatever its name tells "
                 "otherwise; may be repeated, and the "
                 "first rule that fits counts")
      .expected(1)
      .take_all()
      .allow_extra_args(false);
  add_text_options(app, a->outputs);
  const Option part =
      app.add_option("--part", a->part,
                     "I/N, such as 2/8: count only the I-th of N shares of the tensors, and write "
                     "a part for `binade merge` to the file of -o");
  for (const char* other : {"--json", "--csv", "--tensors"}) part.excludes(std::string(other));
  add_on_device_options(app, a->device,
                        "it counts the tensors of F32; this machine counts the others");
  const Option diff = app.add_flag(
      "--diff", a->diff,
      "compare two files, each a report in JSON or a watched run, and print what differs");
  for (const char* other :
       {"--html", "--json", "--csv", "--headroom", "--target-loss", "--target-sqnr",
        "--target-weight-sqnr", "--prefer", "--formats", "--sqnr-scale", "--dtype", "--role",
        "--tensors", "--quiet", "--part", "--device", "--emulated"}) {
    diff.excludes(std::string(other));
  }
  app.footer(
      "\nThe name of a tensor tells its role, by its parts between / . : and by how a part ends. "
      "Only gradients set\nthe loss scale.\n"
      "  dW      fc1.weight.grad, fc1/dW, fc1_weight_grad, grads/fc1.bias, wgrad, grad_weight\n"
      "  dAct    fc1.act.grad, fc1/dAct, logits.grad, dgrad, grad_input, grad_output\n"
      "  grad    a gradient of something else: fc1.grad, gradients/fc1, fc1.main_grad\n"
      "  weight  weight, bias, kernel, param\n"
      "  act     act, activation, input, output, hidden, logits\n"
      "  state   exp_avg, momentum_buffer, …\n"
      "  update  update, subtracted from the weight\n"
      "  other   a name that tells no role\n"
      "If a file is named grads, gradients, … and no name in it tells a gradient, all its weights, "
      "activations and\n"
      "others count as gradients. If no name and no file tells a gradient, all tensors count as "
      "gradients, and the report\nsays so.\n\n"
      "Files of torch: nothing in a .pt, .pth, .bin or .ckpt is run. Names in dicts and lists are "
      "joined by dots\n"
      "(optimizer.state.0.exp_avg). Numbers, texts, argparse.Namespace and NumPy arrays beside the "
      "tensors are passed\n"
      "over; any other object is refused by name. An index (model.safetensors.index.json, "
      "pytorch_model.bin.index.json)\n"
      "stands for all its shards, and a folder with a .metadata for all its tensors.\n\n"
      "Time: if names begin with step<digits>/ for two steps or more, in one file or many, the "
      "report has figures over the\n"
      "steps, by role and layer: step000440/fc1/dW is of layer fc1, step440/fc1.weight.grad of "
      "layer fc1.weight. A weight\n"
      "and its update are compared. `binade train --dump` writes such files.\n\n"
      "Watched runs: a run.binade of binade.torch.watch holds what was counted while a training "
      "ran, by window of steps,\n"
      "layer and role. It tells the roles itself, so --role does not apply. It has SQNR if it was "
      "watched with sqnr=True.\n\n"
      "Exit status: 0 the report was made (with --diff: the reports are alike), 1 the reports of "
      "--diff differ, 2 an\nargument or a file cannot be used, 77 there is no GPU (--device).\n\n"
      "Examples:\n"
      "  binade report grads.safetensors -o report.html\n"
      "  binade report dump.npz --role 'grad=^g[.]' --role 'other=^debug'\n"
      "  binade report checkpoint.pt --role 'state=^optimizer[.]'\n"
      "  binade report run.binade -o run.html\n"
      "  binade report run/*.safetensors --part 2/8 -o part2.bin   (binade merge part*.bin -o "
      "run.html)\n"
      "  binade report --diff before.json after.json\n"
      "  zcat grads.npy.gz | binade report -");
  app.callback([a, &status] { status = a->diff ? compare(*a) : make(*a); });
}

}  // namespace

const Command report_command{
    "report", "count which values are lost in FP16, BF16 and FP8, and choose the loss scale",
    "Counts which values of tensors become zero, subnormal or infinite in FP16, BF16, TF32 and "
    "FP8, and how much of each tensor's norm is lost; from the gradients it chooses the loss scale "
    "with which FP16 loses least. Prints tables, and writes a page, JSON or CSV.",
    &define_report, "[report](lib/report/README.md)"};

}  // namespace binade
