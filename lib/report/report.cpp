// SPDX-License-Identifier: Apache-2.0
//
// Opens the inputs: files of elements, counted runs, or summaries.
#include "lib/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/io/tensor_file.h"
#include "lib/report/counts_tensor_file.h"
#include "lib/report/report_builder.h"
#include "lib/report/run_file.h"
#include "lib/report/tensor_counting.h"
#include "lib/text/error.h"

namespace binade {

namespace {

const std::string name_of_summaries = "summaries";

/// Makes a file of named summaries.
std::unique_ptr<TensorFile> file_of_summaries(std::vector<NamedSummary> summaries) {
  std::vector<TensorInfo> tensors;
  // The first summary that, unlike the very first, has squared errors or has none.
  const NamedSummary* other = nullptr;
  for (const NamedSummary& of : summaries) {
    tensors.push_back({.name = of.name,
                       .dtype = {.name = "summary",
                                 .bits = 0,
                                 .kind = DtypeKind::floating,
                                 .format = "binary32",
                                 .npy = ""},
                       .shape = {of.summary.values},
                       .elements = of.summary.values});
    const bool alike = of.summary.columns.empty() == summaries.front().summary.columns.empty();
    if (!alike && other == nullptr) other = &of;
  }
  if (other != nullptr) {
    const NamedSummary* without = &summaries.front();
    const NamedSummary* with = other;
    if (!without->summary.columns.empty()) std::swap(without, with);
    throw Error(
        fmt::format("the summary of {} has no squared errors, and that of {} has some; "
                    "report on them apart",
                    printable(without->name), printable(with->name)));
  }
  const bool has_errors = !summaries.front().summary.columns.empty();
  const auto held = std::make_shared<const std::vector<NamedSummary>>(std::move(summaries));
  return std::make_unique<CountsTensorFile>(
      name_of_summaries, std::move(tensors),
      Counted{.summary = [held](std::size_t i) { return (*held)[i].summary; },
              .has_errors = has_errors});
}

bool has_errors(const TensorFile& file) {
  const Counted* const counted = counted_in(file);
  return counted == nullptr || counted->has_errors;
}

/// Makes the inputs, and removes the scales from the options if no tensor has squared errors.
ReportInputs with_errors_at_hand(TensorFiles files, const ReportOptions& options,
                                 std::vector<std::string> named) {
  ReportInputs out{std::move(files), options, std::move(named)};
  const auto path_where = [&out](bool errors) -> const std::string* {
    for (const auto& file : out.files) {
      if (has_errors(*file) == errors) return &file->path();
    }
    return nullptr;
  };
  const std::string* const without = path_where(false);
  if (without == nullptr || error_columns(options).empty()) return out;
  if (const std::string* const with = path_where(true)) {
    throw Error(fmt::format(
        "{} has no squared errors, and {} has some; report on them apart, or watch with sqnr=True",
        printable(*without, longest_path), printable(*with, longest_path)));
  }
  if (options.scales_log2 != std::vector{0}) {
    throw Error(
        fmt::format("--sqnr-scale: no squared errors in {}; watch with sqnr=True, or count "
                    "with RangeSummary(sqnr_scale=…)",
                    printable(*without, longest_path)));
  }
  out.options.scales_log2.clear();
  return out;
}

void refuse_values_beyond_64_bits(const std::vector<NamedTensor>& tensors) {
  std::uint64_t all = 0;
  for (const NamedTensor& tensor : tensors) {
    const TensorInfo& info = tensor.place.info();
    if (__builtin_add_overflow(all, info.elements, &all)) {
      throw Error(printable(info.name) + ": with it there are 2^64 values or more");
    }
  }
}

}  // namespace

ReportInputs open_inputs(const std::vector<std::string>& files, const ReportOptions& options) {
  TensorFiles open;
  for (const std::string& path : files) {
    open.push_back(open_tensor_file(path, {.dtype = options.dtype, .open_run = &open_run}));
  }
  return with_errors_at_hand(std::move(open), options, files);
}

ReportInputs inputs_of(std::vector<NamedSummary> summaries, const ReportOptions& options) {
  if (summaries.empty()) throw Error("no summary; nothing to report on");
  TensorFiles files;
  files.push_back(file_of_summaries(std::move(summaries)));
  return with_errors_at_hand(std::move(files), options, {name_of_summaries});
}

ReportInputs inputs_of(std::shared_ptr<const RunCounts> run,
                       std::shared_ptr<const std::vector<RangeSummary>> summaries,
                       const ReportOptions& options) {
  check_run(*run);
  TensorFiles files;
  files.push_back(file_of_run("run", std::move(run),
                              [held = std::move(summaries)](std::size_t i) { return (*held)[i]; }));
  return with_errors_at_hand(std::move(files), options, {"run"});
}

Report read_report(const ReportInputs& inputs, const Progress& progress, Device* device,
                   const TensorSink& on_tensor) {
  ReportPlan plan = plan_report(inputs.files, inputs.options);
  refuse_without_tensors(plan, inputs.files, inputs.named);
  refuse_values_beyond_64_bits(plan.tensors);
  const auto is_counted = [](auto& file) { return counted_in(*file) != nullptr; };
  if (device != nullptr && std::ranges::any_of(inputs.files, is_counted)) {
    throw Error("--device, --emulated: summaries are counted already");
  }
  ReportBuilder builder(inputs.files, std::move(plan), inputs.options, on_tensor);
  TensorCounting counting(builder.columns(), device, progress);
  for (const NamedTensor& tensor : builder.tensors()) counting.expect(tensor.place);
  for (const UpdatePair& pair : builder.updates().pairs) counting.expect(pair);
  for (const NamedTensor& tensor : builder.tensors()) {
    builder.add(counting.summary_of(tensor.place));
  }
  return builder.finish([&](const UpdatePair& pair) { return counting.counts_of(pair); });
}

}  // namespace binade
