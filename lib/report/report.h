// SPDX-License-Identifier: Apache-2.0
//
// The gradient-range report as a struct: what was read, what each tensor's values become in each
// format, and which loss scale serves them. Writers (text, JSON, HTML) only show it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/counted_run.h"
#include "lib/report/loss_scale.h"
#include "lib/report/tensor_counting.h"
#include "lib/report/tensor_report.h"
#include "lib/report/time.h"

namespace binade {

struct SkippedTensor {
  std::string file, name, dtype;
  std::vector<std::uint64_t> shape;
  std::string reason;
};

/// A line about a tensor, as the text's table has it: what is left of those of a run.
struct TensorRow {
  std::string name;
  std::size_t file = 0;  ///< in Report::files
  std::uint64_t values = 0, nonzero = 0;
  FormatFigures in_binary16;
  std::string status;  ///< and what follows: of the TensorReport
  std::optional<ScaleInterval> loss_scale;
  std::string advice_format;
  std::optional<ScaleInterval> advice_interval;
  std::optional<std::size_t> series = {};  ///< in TimeReport::series, where the tensor is of one
};
TensorRow row_of(const TensorReport& tensor, std::size_t file);

/// All tensors of a role together, named as the role.
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
  /// Those that are in memory as a whole, in that order: where there is a time axis, tensors that have no place on
  /// it, else all. What there is to tell of the others is in `time`; a TensorSink has had them.
  std::vector<TensorReport> tensors;
  LossScale loss_scale;  ///< one scale for all tensors, or for the gradients where they are known
  std::size_t scaled_tensors = 0;  ///< how many it is taken from
  std::vector<RoleReport> roles;   ///< where there are two or more; in their order, other last
  std::optional<TimeReport> time;  ///< where the tensors' names tell two steps or more
  std::string hint;                ///< of names that seem to tell a step and do not; or empty
  std::string missing_parts;       ///< which parts a report of parts lacks, in words; or empty
  std::optional<Watched> watched;  ///< where a run was counted while it ran
  /// Where names tell gradients: all of them together, of all steps but these, whose gradients hold NaN
  /// or Inf.
  std::optional<TensorReport> gradients;
  std::vector<std::uint64_t> passed_over;

  /// What the loss scale multiplies.
  const TensorReport& scaled() const { return gradients ? *gradients : total; }
};

/// Gets each tensor, analysed, in the order of the files.
using TensorSink = std::function<void(const TensorReport&)>;

using TensorFiles = std::vector<std::unique_ptr<TensorFile>>;

/// What a report is of, and what it can tell of that: where summaries were counted before and without squared errors, the
/// options have no scales.
struct ReportInputs {
  TensorFiles files;
  ReportOptions options;
  std::vector<std::string> named;  ///< the files as they were given
};

/// What was counted before, by the tensor's name.
struct NamedSummary {
  std::string name;
  RangeSummary summary;
};

/// Each: Error where some of the tensors have squared errors and some have not, or none has those of the scales asked for.
ReportInputs open_inputs(const std::vector<std::string>& files, const ReportOptions& options);
ReportInputs inputs_of(std::vector<NamedSummary> summaries, const ReportOptions& options);
ReportInputs inputs_of(std::shared_ptr<const CountedRun> run,
                       std::shared_ptr<const std::vector<RangeSummary>> summaries,
                       const ReportOptions& options);

/// Reads every floating tensor of the inputs once. Error on bad files, or if none holds a floating
/// tensor. A device, where there is one, counts the elements of binary32.
Report read_report(const ReportInputs& inputs, const Progress& progress = {},
                   Device* device = nullptr, const TensorSink& on_tensor = {});

/// The formats and scales whose squared errors a report needs.
std::vector<ErrorColumn> error_columns(const ReportOptions& options);

}  // namespace binade
