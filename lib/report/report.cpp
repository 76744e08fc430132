// SPDX-License-Identifier: Apache-2.0
//
// Where summaries come from: the elements of files, or who counted them before.
#include "lib/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/io/tensor_file.h"
#include "lib/report/absent_tensors.h"
#include "lib/report/report_builder.h"
#include "lib/report/tensor_counting.h"
#include "lib/tensor/error.h"

namespace binade {

std::vector<ErrorColumn> error_columns(const ReportOptions& options) {
  std::vector<ErrorColumn> columns;
  for (const int scale : options.scales_log2) {
    for (const NamedFormat& row : options.formats) columns.push_back({row.format, scale});
  }
  return columns;
}

namespace {

/// Names of tensors whose elements are no longer there.
std::vector<TensorInfo> infos_of(const std::vector<NamedSummary>& summaries) {
  std::vector<TensorInfo> out;
  for (const auto& [name, summary] : summaries) {
    out.push_back({.name = name,
                   .dtype = {.name = "summary",
                             .bits = 0,
                             .kind = DtypeKind::floating,
                             .format = "binary32",
                             .npy = ""},
                   .shape = {summary.values},
                   .elements = summary.values});
  }
  return out;
}

void refuse_values_beyond_64_bits(const std::vector<NamedSummary>& summaries) {
  std::uint64_t all = 0;
  for (const auto& [name, summary] : summaries) {
    if (__builtin_add_overflow(all, summary.values, &all)) {
      throw Error(printable(name) + ": with it there are 2^64 values or more");
    }
  }
}

/// The columns of a summary that the options ask for, in their order.
RangeSummary with_columns(const NamedSummary& of, const std::vector<ErrorColumn>& columns) {
  if (of.summary.columns == columns) return of.summary;
  RangeSummary out = of.summary;
  out.columns = columns;
  out.squared_error.clear();
  for (const ErrorColumn& column : columns) {
    const auto at = std::ranges::find(of.summary.columns, column);
    if (at == of.summary.columns.end()) {
      throw Error(
          fmt::format("the summary of {} has no squared errors of {} at scale 2^{}; give the "
                      "formats and scales "
                      "that it was made with",
                      printable(of.name),
                      std::ranges::find(report_formats, column.format, &NamedFormat::format)->name,
                      column.scale_log2));
    }
    out.squared_error.push_back(
        of.summary.squared_error[static_cast<std::size_t>(at - of.summary.columns.begin())]);
  }
  return out;
}

}  // namespace

Report read_report(const std::vector<std::string>& files, const ReportOptions& options,
                   const Progress& progress, Device* device, const TensorSink& on_tensor) {
  TensorFiles open;
  for (const std::string& path : files) open.push_back(open_tensor_file(path, {options.dtype}));
  ReportPlan plan = plan_report(open, options);
  refuse_without_tensors(plan, open, files);
  ReportBuilder builder(open, std::move(plan), options, on_tensor);
  TensorCounting counting(builder.columns(), device, progress);
  for (const NamedTensor& tensor : builder.tensors()) counting.expect(tensor.place);
  for (const UpdatePair& pair : builder.updates().pairs) counting.expect(pair);
  for (const NamedTensor& tensor : builder.tensors()) {
    builder.add(counting.summary_of(tensor.place));
  }
  return builder.finish([&](const UpdatePair& pair) { return counting.counts_of(pair); });
}

Report report_of(const std::vector<NamedSummary>& summaries, const ReportOptions& options,
                 const Progress& progress, const TensorSink& on_tensor) {
  if (summaries.empty()) throw Error("no summary; nothing to report on");
  TensorFiles files;
  files.push_back(std::make_unique<AbsentTensors>("summaries", infos_of(summaries)));
  ReportBuilder builder(files, plan_report(files, options), options, on_tensor);
  refuse_values_beyond_64_bits(summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (progress) progress(i, summaries.size());
    builder.add(with_columns(summaries[i], builder.columns()));
  }
  return builder.finish({});
}

}  // namespace binade
