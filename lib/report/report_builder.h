// SPDX-License-Identifier: Apache-2.0
//
// Makes a report tensor by tensor. Of the tensors of a run little is kept, so runs of any length
// fit in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/report/named_tensors.h"
#include "lib/report/report.h"
#include "lib/report/roles.h"
#include "lib/report/run_sums.h"

namespace binade {

/// What a report will consist of, as the names in its files say.
struct ReportPlan {
  std::vector<NamedTensor> tensors;  ///< floating-point ones, in the order of the files
  UpdatePairs updates;
};

/// Returns the plan for the files. Throws Error if they belong to two runs.
ReportPlan plan_report(const TensorFiles& files, const ReportOptions& options);

class ReportBuilder {
 public:
  /// Makes the report of a plan of these files: the whole plan, or that of some parts. The files
  /// must outlive the builder. Throws Error if two counted runs among them were not watched at the
  /// same steps (Watched::every).
  ReportBuilder(const TensorFiles& files, ReportPlan plan, const ReportOptions& options,
                TensorSink on_tensor);
  ReportBuilder(const ReportBuilder&) = delete;
  ReportBuilder& operator=(const ReportBuilder&) = delete;

  /// Returns the tensors in the order in which they must be added, that of the files.
  const std::vector<NamedTensor>& tensors() const { return plan_.tensors; }
  const std::vector<ErrorColumn>& columns() const { return columns_; }
  const UpdatePairs& updates() const { return plan_.updates; }

  /// Adds the summary of the next tensor, which must have columns().
  void add(RangeSummary summary);

  /// Returns the report after all tensors were added; may be called once. `count` is called once
  /// for each pair of weight and update, if the names of the plan's tensors say two steps or more.
  Report finish(const std::function<UpdateCounts(const UpdatePair&)>& count);

 private:
  ReportPlan plan_;
  std::vector<ErrorColumn> columns_;
  TensorSink on_tensor_;
  Report report_;
  RoleSums roles_;
  VerdictSums verdict_;
  std::optional<RunSums> run_;  ///< if there is a time axis
  const TensorFiles& files_;
  bool any_half_;         ///< any_in_half()
  std::size_t file_ = 0;  ///< index of a file at or before the next tensor's
};

/// Throws Error if there is nothing to report on. `named` are the files as the user gave them.
void refuse_without_tensors(const ReportPlan& plan, const TensorFiles& files,
                            const std::vector<std::string>& named);

}  // namespace binade
