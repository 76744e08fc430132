// SPDX-License-Identifier: Apache-2.0
//
// Each tensor is analysed once, passed to the sink, and added to the sums.
#include "lib/report/report_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/io/scaled_codes.h"
#include "lib/report/counts_tensor_file.h"
#include "lib/report/held_floor.h"
#include "lib/report/used_scale.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the tensors of the files that the report does not cover, with the reasons.
std::vector<SkippedTensor> skipped_tensors(const TensorFiles& files,
                                           const std::vector<RoleRule>& rules) {
  const auto reasons = reasons_to_skip(files, rules);
  std::vector<SkippedTensor> out;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (std::size_t i = 0; i < files[f]->tensors().size(); ++i) {
      const TensorInfo& info = files[f]->tensors()[i];
      if (reasons[f][i].empty()) continue;
      out.push_back(
          {files[f]->path(), info.name, std::string(info.dtype.name), info.shape, reasons[f][i]});
    }
  }
  return out;
}

/// Says how many tensors are codes whose scales are apart; empty if none is.
std::string codes_hint(const std::vector<SkippedTensor>& skipped) {
  std::size_t codes = 0;
  const SkippedTensor* first = nullptr;
  for (const SkippedTensor& t : skipped) {
    if (!is_code_reason(t.reason)) continue;
    if (codes++ == 0) first = &t;
  }
  if (codes == 0) return "";
  return fmt::format(
      "{} tensor{} {}: {} ({}). The report leaves them and their scales out; dequantize them, and "
      "report on the values.",
      codes, codes == 1 ? "" : "s", codes == 1 ? "is quantized" : "are quantized, first",
      printable(first->name, 60), first->reason);
}

/// Returns the shape of a tensor; nothing for a tensor of a counted run that merges tensors of
/// different shapes.
std::optional<std::vector<std::uint64_t>> shape_of(const TensorPlace& place) {
  const RunCounts* const run = run_in(*place.file);
  return run == nullptr ? place.info().shape : run->tensors[place.index].shape;
}

/// Returns what the files of a counted run say about how it was watched; nothing if there is none.
std::optional<Watched> watched_in(const TensorFiles& files) {
  std::optional<Watched> out;
  const TensorFile* first = nullptr;
  for (const auto& file : files) {
    const RunCounts* const run = run_in(*file);
    if (run == nullptr) continue;
    if (!out) {
      out = run->watched;
      first = file.get();
      continue;
    }
    if (out->every != run->watched.every) {
      throw Error(
          fmt::format("{} and {}: watched every {} and every {} steps; report one run at a time",
                      printable(first->path(), longest_path), printable(file->path(), longest_path),
                      out->every, run->watched.every));
    }
    add_watched(*out, run->watched);
  }
  return out;
}

/// Returns the report before any tensor is added.
Report new_report(const TensorFiles& files, const ReportOptions& options) {
  Report report;
  report.options = options;
  for (const auto& file : files) report.files.push_back(file->path());
  report.skipped = skipped_tensors(files, options.roles);
  report.watched = watched_in(files);
  report.total.name = "total";
  return report;
}

}  // namespace

ReportPlan plan_report(const TensorFiles& files, const ReportOptions& options) {
  ReportPlan out{named_tensors(files, options.roles), {}};
  refuse_mixed_runs(out.tensors);
  out.updates = update_pairs(out.tensors);
  return out;
}

void refuse_without_tensors(const ReportPlan& plan, const TensorFiles& files,
                            const std::vector<std::string>& named) {
  if (!plan.tensors.empty()) return;
  const auto reasons = reasons_to_skip(files, {});
  std::size_t skipped = 0;
  for (const auto& of_file : reasons) skipped += of_file.size();
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto at = std::ranges::find_if(reasons[f], is_code_reason);
    if (at == reasons[f].end()) continue;
    const auto i = static_cast<std::size_t>(at - reasons[f].begin());
    throw Error(fmt::format("{}: {}: {}; multiply codes by their scales first",
                            printable(files[f]->path(), longest_path),
                            printable(files[f]->tensors()[i].name, 60), *at));
  }
  throw Error(fmt::format("{}: no floating-point tensor among {} tensor{}; nothing to report on",
                          printable(named.size() == 1 ? named[0] : "the files given"), skipped,
                          skipped == 1 ? "" : "s"));
}

TensorRow row_of(const TensorReport& tensor, std::size_t file, const ReportOptions& options) {
  const RangeSummary& s = tensor.summary;
  return {.name = tensor.name,
          .file = file,
          .values = s.values,
          .nonzero = s.nonzero(),
          .at_one = figures_in(tensor, format_of_scale(options)),
          .status = tensor.status,
          .loss_scale = tensor.loss_scale.interval,
          .at_floor = tensor.at_floor,
          .advice_format = tensor.advice_format,
          .advice_interval = tensor.advice_interval};
}

ReportBuilder::ReportBuilder(const TensorFiles& files, ReportPlan plan,
                             const ReportOptions& options, TensorSink on_tensor)
    : plan_(std::move(plan)),
      columns_(error_columns(options)),
      on_tensor_(std::move(on_tensor)),
      report_(new_report(files, options)),
      roles_(report_.options, columns_, plan_.tensors),
      verdict_(report_.options),
      files_(files),
      any_half_(any_in_half(plan_.tensors)) {
  if (has_time_axis(plan_.tensors)) run_.emplace(report_.options, plan_.tensors);
  report_.rows.reserve(plan_.tensors.size());
}

void ReportBuilder::add(RangeSummary summary) {
  const std::size_t place = report_.rows.size();
  const NamedTensor& named = plan_.tensors[place];
  const TensorInfo& info = named.place.info();
  while (files_[file_].get() != named.place.file) ++file_;
  TensorReport tensor{.name = info.name,
                      .file = named.place.file->path(),
                      .role = named.role,
                      .time = named.time,
                      .dtype = std::string(info.dtype.name),
                      .shape = shape_of(named.place),
                      .summary = std::move(summary),
                      .status = {},
                      .formats = {},
                      .loss_scale = {},
                      .advice_format = {},
                      .advice_interval = {},
                      .advice = {}};
  fill_figures(tensor, report_.options);
  tensor.at_floor = lies_at_floor(tensor, named, any_half_);
  const bool is_kept = !run_ || !tensor.time;
  if (is_kept || on_tensor_) fill_words(tensor, report_.options);
  if (on_tensor_) on_tensor_(tensor);
  roles_.add(tensor, place);
  verdict_.add(tensor);
  report_.rows.push_back(row_of(tensor, file_, report_.options));
  if (is_kept) {
    report_.tensors.push_back(std::move(tensor));
  } else {
    report_.rows.back().series = run_->series_of(place);
    run_->add(tensor, place);
  }
}

Report ReportBuilder::finish(const std::function<UpdateCounts(const UpdatePair&)>& count) {
  roles_.finish(report_);
  report_.verdict = verdict_.finish(report_);
  report_.hint = time_hint(plan_.tensors);
  if (const std::string rule = unused_rule(plan_.tensors, report_.options.roles); !rule.empty()) {
    if (!report_.hint.empty()) report_.hint += " ";
    const bool runs = std::ranges::any_of(plan_.tensors, &NamedTensor::by_run);
    report_.hint += fmt::format("--role {} fits no name{}.", printable(rule),
                                runs ? ", and a counted run tells roles itself" : "");
  }
  if (const std::string codes = codes_hint(report_.skipped); !codes.empty()) {
    report_.hint = codes + (report_.hint.empty() ? "" : " ") + report_.hint;
  }
  if (run_) {
    report_.time = run_->finish();
    report_.time->loss_scales = roles_.step_scales();
    take_used_scales(report_.time->loss_scales, plan_.tensors);
    add_updates(*report_.time, plan_.updates, count);
  }
  return std::move(report_);
}

}  // namespace binade
