// SPDX-License-Identifier: Apache-2.0
//
// binade report: what dies in which format, how much of the norm, and which loss scale saves it.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/cli/report_options.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/io/tensor_file.h"
#include "lib/report/csv.h"
#include "lib/report/diff.h"
#include "lib/report/html.h"
#include "lib/report/json.h"
#include "lib/report/text.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

struct ReportArguments {
  std::vector<std::string> inputs;
  std::string html, json, csv;
  ReportWords words;
  std::size_t tensors = 20;
  bool quiet = false, diff = false;
  DeviceOption device;
};

/// Text to a file, or to standard output where the path is "-"; nowhere where it is empty.
void deliver(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
  } else if (!path.empty()) {
    write_file(path, text);
  }
}

int make(const ReportArguments& arguments) {
  if (arguments.json == "-" && arguments.csv == "-") {
    throw Error("--json - and --csv -: standard output takes one; give the other a file");
  }
  const ReportOptions options = report_options(arguments.words);
  OpenedDevice opened;
  if (arguments.device.asked()) {
    opened = open_chosen_device(arguments.device);
    if (!opened.device) return no_hardware(report_schema, opened.why_none, arguments.json == "-");
  }
  const std::vector<std::string> files = expand_paths(arguments.inputs);
  std::vector<InputPath> read;
  for (const std::string& file : files) read.push_back({"FILE", file});
  prepare_outputs(
      read, std::array{OutputPath{"-o", arguments.html},
                       OutputPath{.name = "--json", .path = arguments.json, .or_stdout = true},
                       OutputPath{.name = "--csv", .path = arguments.csv, .or_stdout = true}});
  Report report;
  {
    ProgressLine line;
    const auto progress = [&line](std::uint64_t done, std::uint64_t total) {
      line.update(done, total);
    };
    report = read_report(files, options, progress, opened.device.get());
  }
  std::string on_device;
  if (opened.device) {
    const auto of_f32 = std::ranges::count(report.tensors, "F32", &TensorReport::dtype);
    on_device = tensors_on_device("counted", *opened.device, static_cast<std::size_t>(of_f32),
                                  report.tensors.size());
  }
  if (!arguments.quiet && arguments.json != "-" && arguments.csv != "-") {
    fmt::print("{}{}", report_text(report, {wants_color(STDOUT_FILENO), arguments.tensors}),
               on_device);
  }
  if (arguments.json.empty() && arguments.html.empty() && arguments.csv.empty()) return 0;
  const nlohmann::ordered_json json = to_json(report);
  if (!arguments.json.empty()) deliver(arguments.json, json_text(json));
  if (!arguments.csv.empty()) deliver(arguments.csv, report_csv(json));
  if (!arguments.html.empty()) write_file(arguments.html, report_html(report));
  return 0;
}

int compare(const ReportArguments& arguments) {
  if (arguments.inputs.size() != 2) {
    throw Error("--diff takes two reports in JSON: binade report --diff before.json after.json");
  }
  const ReportDiff diff =
      diff_reports(load_report(arguments.inputs[0]), load_report(arguments.inputs[1]));
  fmt::print("{}", diff.text);
  return diff.different ? exit_different : 0;
}

void define_report(App app, int& status) {
  const auto a = std::make_shared<ReportArguments>();
  app.add_option("FILE", a->inputs,
                 ".safetensors, .npy, .npz files, or globs; - for standard input")
      .required();
  app.add_output("-o,--html", a->html, "write the report as one self-contained page");
  app.add_output("--json", a->json, "write the report as JSON; - for standard output");
  app.add_output("--csv", a->csv, "write a row of figures a tensor, as CSV; - for standard output");
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
  app.add_option("--tensors", a->tensors, "rows of the tensor table on the terminal; 0 for all")
      .capture_default_str();
  app.add_flag("-q,--quiet", a->quiet, "no text on standard output");
  add_on_device_options(app, a->device, "tensors of F32 are counted there, others here");
  const Option diff = app.add_flag(
      "--diff", a->diff, "compare two reports in JSON, on the terminal; exits 1 if they differ");
  for (const char* other :
       {"--html", "--json", "--csv", "--headroom", "--target-loss", "--prefer", "--formats",
        "--sqnr-scale", "--dtype", "--role", "--tensors", "--quiet", "--device", "--emulated"}) {
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
      "Time: names step<digits>/… of two steps or more, in one file or many, give figures over the "
      "steps, by role and\n"
      "layer: step000440/fc1/dW (layer fc1), step440/fc1.weight.grad (layer fc1.weight); a weight "
      "and its update are\n"
      "held against each other. binade train --dump writes such files.\n\n"
      "Examples:\n"
      "  binade report grads.safetensors -o report.html\n"
      "  binade report dump.npz --role 'grad=^g[.]' --role 'other=^debug'\n"
      "  zcat grads.npy.gz | binade report -");
  app.callback([a, &status] { status = a->diff ? compare(*a) : make(*a); });
}

}  // namespace

const Command report_command{
    "report", "what dies in FP16, BF16, FP8, and which loss scale saves it", &define_report};

}  // namespace binade
