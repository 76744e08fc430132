// SPDX-License-Identifier: Apache-2.0
//
// A report made by several processes: each reads its share of the tensors, and the report put
// together from their counts has the same bytes as that of a single process.
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

/// For each tensor and each pair of a plan, the part that it belongs to, from 0. A part is a run of
/// consecutive tensors, of about as many bytes as every other. A weight and its update are in the
/// same part, that of the first of them.
struct Shares {
  std::vector<std::uint32_t> tensors, pairs;
};
Shares shares_of(const ReportPlan& plan, std::uint64_t parts);

/// Counts a part of the files' tensors and writes it to `path`. Throws Error as read_report() does,
/// if one of the files is a counted run, and if `path` cannot be written.
void write_part(const std::vector<std::string>& files, const ReportOptions& options,
                const PartOf& part, const std::string& path, const Progress& progress = {},
                Device* device = nullptr);

/// The parts of one report, from which the report is put together.
class MergedParts {
 public:
  /// Opens the parts. Throws Error if another version of binade made one, if they have different
  /// options, inputs or numbers of parts, if a part is given twice, or, unless `partial`, if one is
  /// missing.
  MergedParts(const std::vector<std::string>& paths, bool partial);

  const ReportOptions& options() const { return options_; }

  /// Reads the parts, which can be done once, and returns the report. `progress` is called with the
  /// bytes read. Throws Error if a part is damaged, or if no part that is here has a tensor.
  Report report(const TensorSink& on_tensor, const Progress& progress = {});

 private:
  void refuse_missing() const;
  std::string missing_words() const;
  ReportPlan plan_of_those_here(const ReportPlan& plan, const Shares& shares) const;
  RangeSummary next_summary(CountsReader& part, std::size_t number, const TensorInfo& info,
                            const std::vector<ErrorColumn>& columns) const;

  std::vector<std::unique_ptr<CountsReader>> parts_;  ///< by number; null if missing
  ReportOptions options_;
  TensorFiles files_;
};

}  // namespace binade
