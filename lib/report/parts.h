// SPDX-License-Identifier: Apache-2.0
//
// A report made by several processes, each reading its share of the tensors, and put together from what they counted: the
// same bytes as of one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/report/counts_file.h"
#include "lib/report/part_file.h"
#include "lib/report/report.h"
#include "lib/report/report_builder.h"

namespace binade {

/// The part, from 0, that each tensor and each pair of a plan belongs to. Parts are runs of tensors in their order, of
/// about equally many bytes; the second of a weight and its update goes with the first.
struct Shares {
  std::vector<std::uint32_t> tensors, pairs;
};
Shares shares_of(const ReportPlan& plan, std::uint64_t parts);

/// Counts a part of the files' tensors and writes it. Error as of read_report.
void write_part(const std::vector<std::string>& files, const ReportOptions& options,
                const PartOf& part, const std::string& path, const Progress& progress = {},
                Device* device = nullptr);

/// Parts of one report, put together.
class MergedParts {
 public:
  /// Error where they are not of the same version, options and inputs, where one is there twice, or, unless `partial`,
  /// missing.
  MergedParts(const std::vector<std::string>& paths, bool partial);

  const ReportOptions& options() const { return options_; }

  /// Reads the parts, once. `progress` is told their bytes. Error where a part is damaged.
  Report report(const TensorSink& on_tensor, const Progress& progress = {});

 private:
  void refuse_missing() const;
  std::string missing_words() const;
  ReportPlan plan_of_those_here(const ReportPlan& plan, const Shares& shares) const;
  RangeSummary next_summary(CountsReader& part, std::size_t number, const TensorInfo& info,
                            const std::vector<ErrorColumn>& columns) const;

  std::vector<std::unique_ptr<CountsReader>> parts_;  ///< by part; null: missing
  ReportOptions options_;
  TensorFiles files_;
};

}  // namespace binade
