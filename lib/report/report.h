// SPDX-License-Identifier: Apache-2.0
//
// The gradient-range report as a struct: what was read, what each tensor's values become in each
// format, and which loss scale serves them. Writers (text, JSON, HTML) only show it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/record/device.h"
#include "lib/report/format_report.h"
#include "lib/report/tensor_report.h"
#include "lib/report/time.h"

namespace binade {

struct SkippedTensor {
  std::string file, name, dtype;
  std::vector<std::uint64_t> shape;
  std::string reason;
};

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
  std::vector<TensorReport> tensors;
  LossScale loss_scale;  ///< one scale for all tensors, or for the gradients where they are known
  std::vector<RoleReport> roles;   ///< where there are two or more; in their order, other last
  std::optional<TimeReport> time;  ///< where the tensors' names tell two steps or more
  std::string hint;                ///< of names that seem to tell a step and do not; or empty
  /// Where names tell gradients: all of them together, of all steps but these, whose gradients hold NaN
  /// or Inf.
  std::optional<TensorReport> gradients;
  std::vector<std::uint64_t> passed_over;

  /// What the loss scale multiplies.
  const TensorReport& scaled() const { return gradients ? *gradients : total; }
};

/// Told after each chunk: bytes done and bytes in all.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads every floating tensor of the files once. Error on bad files, or if none holds a floating
/// tensor. A device, where there is one, counts the elements of binary32.
Report read_report(const std::vector<std::string>& files, const ReportOptions& options,
                   const Progress& progress = {}, Device* device = nullptr);

/// What was counted before, by the tensor's name.
struct NamedSummary {
  std::string name;
  RangeSummary summary;
};

/// The report of what was counted, of which no file is read. Error where a summary lacks errors of the options.
/// `progress` is told of the tensors.
Report report_of(const std::vector<NamedSummary>& summaries, const ReportOptions& options,
                 const Progress& progress = {});

/// The formats and scales whose squared errors a report needs.
std::vector<ErrorColumn> error_columns(const ReportOptions& options);

/// The joint loss scale: no tensor overflows, none loses more than the target.
LossScale joint_loss_scale(const std::vector<TensorReport>& tensors, const TensorReport& total,
                           const ReportOptions& options);
/// The same of some of the tensors; `total` is all their values.
LossScale joint_loss_scale(const std::vector<const TensorReport*>& tensors,
                           const RangeSummary& total, const ReportOptions& options);

/// "2^17", and its decimal value where that is short: "2^17 = 131072".
std::string power_of_two(int log2);
/// A share as people read it: "61.1 %", "0.044 %", "0 %".
std::string percent(double share);

}  // namespace binade
