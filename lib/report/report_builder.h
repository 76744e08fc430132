// SPDX-License-Identifier: Apache-2.0
//
// A report, made tensor by tensor: what is kept of each hangs on its place in a run, so that runs of any length fit.
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

/// What a report is made of, by the names in its files.
struct ReportPlan {
  std::vector<NamedTensor> tensors;  ///< the floating ones, in the order of the files
  UpdatePairs updates;
};

/// Error where the files are of two runs.
ReportPlan plan_report(const TensorFiles& files, const ReportOptions& options);

class ReportBuilder {
 public:
  /// `plan`: of these files, all of it or a part. The files outlive the builder.
  ReportBuilder(const TensorFiles& files, ReportPlan plan, const ReportOptions& options,
                TensorSink on_tensor);
  ReportBuilder(const ReportBuilder&) = delete;
  ReportBuilder& operator=(const ReportBuilder&) = delete;

  /// In the order of the files, in which they are to be added.
  const std::vector<NamedTensor>& tensors() const { return plan_.tensors; }
  const std::vector<ErrorColumn>& columns() const { return columns_; }
  const UpdatePairs& updates() const { return plan_.updates; }

  /// What was counted of the next tensor, with the columns.
  void add(RangeSummary summary);

  /// Once all are there. `count` is asked once for each pair.
  Report finish(const std::function<UpdateCounts(const UpdatePair&)>& count);

 private:
  ReportPlan plan_;
  std::vector<ErrorColumn> columns_;
  TensorSink on_tensor_;
  Report report_;
  RoleSums roles_;
  std::optional<RunSums> run_;  ///< where there is a time axis
  const TensorFiles& files_;
  std::size_t file_ = 0;  ///< of the next tensor, or before
};

/// Error where there is nothing to report on. `named`: the files as they were given.
void refuse_without_tensors(const ReportPlan& plan, const TensorFiles& files,
                            const std::vector<std::string>& named);

}  // namespace binade
