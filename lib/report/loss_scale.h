// SPDX-License-Identifier: Apache-2.0
//
// The loss scale for binary16, of one tensor or of many together, and the words for it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/tensor_report.h"

namespace binade {

/// For these values alone, of which `of` are the norms and `tie` the highest_tie.
LossScale loss_scale_of(const RangeSummary& summary, const Norms& of, std::optional<int> tie,
                        const ReportOptions& options);

/// One scale for many tensors: none overflows, none loses more than the target. They are added in any order, of which
/// the outcome does not depend; what is kept is the sum of their summaries, and the two that set the ends.
class JointScale {
 public:
  /// A tensor that sets an end of the interval.
  struct End {
    std::size_t place = 0;
    std::string name, file;
    int log2 = 0;
    Placed largest;
    ScaleRange scales = {};     ///< of its values
    RangeSummary summary = {};  ///< of the lower end alone
  };

  explicit JointScale(const std::vector<ErrorColumn>& columns) : total_(empty_summary(columns)) {}

  /// `place`: in the report's order; of several that set an end the first is named.
  void add(const TensorReport& tensor, std::size_t place);
  void add(JointScale other);

  const RangeSummary& total() const { return total_; }

  /// `shares_name`: whether another of the tensors, in another file, is called as this one.
  LossScale scale(const ReportOptions& options,
                  const std::function<bool(const End&)>& shares_name) const;

 private:
  bool is_low(int log2, std::size_t place) const;
  void take_high(End end);

  RangeSummary total_;
  std::optional<End> low_, high_;
};

/// "2^17", and its decimal value where that is short: "2^17 = 131072".
std::string power_of_two(int log2);

}  // namespace binade
