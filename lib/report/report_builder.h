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

class ReportBuilder {
 public:
  using Files = std::vector<std::unique_ptr<TensorFile>>;

  /// On the floating tensors of the files, which outlive the builder. Error where they are of two runs.
  ReportBuilder(const Files& files, const ReportOptions& options, TensorSink on_tensor);
  ReportBuilder(const ReportBuilder&) = delete;
  ReportBuilder& operator=(const ReportBuilder&) = delete;

  /// In the order of the files, in which they are to be added.
  const std::vector<NamedTensor>& tensors() const { return named_; }
  const std::vector<ErrorColumn>& columns() const { return columns_; }
  const UpdatePairs& updates() const { return updates_; }
  const std::vector<SkippedTensor>& skipped() const { return report_.skipped; }

  /// What was counted of the next tensor, with the columns.
  void add(RangeSummary summary);

  /// Once all are there. `count` is asked once for each pair; nothing where no elements can be had.
  Report finish(const std::function<UpdateCounts(const UpdatePair&)>& count);

 private:
  std::vector<NamedTensor> named_;
  std::vector<ErrorColumn> columns_;
  UpdatePairs updates_;
  TensorSink on_tensor_;
  Report report_;
  RoleSums roles_;
  std::optional<RunSums> run_;  ///< where there is a time axis
  const Files& files_;
  std::size_t file_ = 0;  ///< of the next tensor, or before
};

/// Error where there is nothing to report on. `files`: as they were named.
void refuse_without_tensors(const std::vector<std::string>& files, const ReportBuilder& builder);

}  // namespace binade
