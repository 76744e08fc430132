// SPDX-License-Identifier: Apache-2.0
//
// The range report as a struct: what was read, what each tensor's values become in each format, and
// which loss scale keeps them in range. The writers (text, JSON, HTML) only show it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/loss_scale.h"
#include "lib/report/run_counts.h"
#include "lib/report/tensor_counting.h"
#include "lib/report/tensor_report.h"
#include "lib/report/time.h"
#include "lib/report/verdict.h"

namespace binade {

struct SkippedTensor {
  std::string file, name, dtype;
  std::vector<std::uint64_t> shape;
  std::string reason;
};

/// What the table of the text says about a tensor. Of the tensors of a run that have a step, only
/// this and what `time` says is kept.
struct TensorRow {
  std::string name;
  std::size_t file = 0;  ///< index in Report::files
  std::uint64_t values = 0, nonzero = 0;
  FormatFigures at_one;  ///< in format_of_scale()
  /// From status to advice_interval: those of the TensorReport; of its loss scale the interval
  /// alone.
  std::string status;
  std::optional<ScaleInterval> loss_scale;
  bool at_floor = false;  ///< then the lower end is that of what is left
  std::string advice_format;
  std::optional<ScaleInterval> advice_interval;
  /// The index of the tensor's series in TimeReport::series, if it has a step.
  std::optional<std::size_t> series = {};
};
/// Returns the row of an analysed tensor, all but `series`.
TensorRow row_of(const TensorReport& tensor, std::size_t file, const ReportOptions& options);

/// All tensors of a role together. The name of `all` is that of the role.
struct RoleReport {
  std::size_t tensors = 0;
  TensorReport all;
};

struct Report {
  ReportOptions options;
  std::vector<std::string> files;
  std::vector<SkippedTensor> skipped;
  TensorReport total;
  std::vector<TensorRow> rows;  ///< of all tensors, in the order of the files
  /// The tensors that are kept as a whole, in the order of the files: if there is a time axis,
  /// those without a step; else all. Of the others only `time` and `rows` say something here; a
  /// TensorSink got them as a whole.
  std::vector<TensorReport> tensors;
  /// One scale for all tensors, or for the gradients if it is known which they are.
  LossScale loss_scale;
  std::vector<LossScale> loss_scales;  ///< the same for each of options.formats
  std::size_t scaled_tensors = 0;      ///< the number of tensors that the scale is computed from
  std::vector<RoleReport> roles;   ///< if there are two or more; in TensorRole's order, other last
  std::optional<TimeReport> time;  ///< if the tensors' names say two steps or more
  /// What readers should know about names that seem to say a step and do not, and about a --role
  /// that fits no name; empty if there is neither.
  std::string hint;
  /// In words, the parts that are missing from a report made of parts; empty if none is.
  std::string missing_parts;
  std::optional<Watched> watched;  ///< of a counted run (run_counts.h)
  /// All gradients together, if names say which they are, without those of the steps passed_over,
  /// whose gradients hold NaN or Inf.
  std::optional<TensorReport> gradients;
  std::vector<std::uint64_t> passed_over;
  NarrowestFormats verdict = {};  ///< which format each role needs

  /// Returns the report of the values that the loss scale multiplies.
  const TensorReport& scaled() const { return gradients ? *gradients : total; }
};

/// A function that gets each tensor, analysed, in the order of the files.
using TensorSink = std::function<void(const TensorReport&)>;

using TensorFiles = std::vector<std::unique_ptr<TensorFile>>;

/// The inputs of a report and its options. options.scales_log2, the scales at which squared errors
/// are summed, is empty if the inputs are summaries without squared errors.
struct ReportInputs {
  TensorFiles files;
  ReportOptions options;
  std::vector<std::string> named;  ///< the files as the user gave them
};

/// Each makes the inputs of a report: from files, from summaries, or from a counted run. They throw
/// Error if some of the tensors have squared errors (or elements to compute them from) and some
/// have none, or if none has any and options.scales_log2 is not {0} alone.
ReportInputs open_inputs(const std::vector<std::string>& files, const ReportOptions& options);
ReportInputs inputs_of(std::vector<NamedSummary> summaries, const ReportOptions& options);
ReportInputs inputs_of(std::shared_ptr<const RunCounts> run,
                       std::shared_ptr<const std::vector<RangeSummary>> summaries,
                       const ReportOptions& options);

/// Reads every floating-point tensor of the inputs once, and the weight and the update of each
/// UpdatePair a second time. If a device is given, it counts the elements of binary32. Throws Error
/// if a file is bad, if none holds a floating-point tensor, if there are 2^64 values or more, if
/// the files belong to two runs, or if a device is given and some inputs are summaries or counted
/// runs.
Report read_report(const ReportInputs& inputs, const Progress& progress = {},
                   Device* device = nullptr, const TensorSink& on_tensor = {});

}  // namespace binade
