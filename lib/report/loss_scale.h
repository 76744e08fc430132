// SPDX-License-Identifier: Apache-2.0
//
// The loss scale for binary16, of one tensor or of many together, and its explanation in words.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/tensor_report.h"

namespace binade {

/// Returns the scale for the values of one summary. `of` are its norms, `tie` is its highest_tie().
LossScale loss_scale_of(const RangeSummary& summary, const Norms& of, std::optional<int> tie,
                        const ReportOptions& options);

/// Finds one scale for many tensors, at which none overflows and none loses more than the target;
/// if there is none, the largest at which none overflows. Tensors may be added in any order, which
/// does not change the result. Only the sum of their summaries and the two tensors that set the
/// ends are kept.
class JointScale {
 public:
  /// A tensor that sets an end of the interval of scales.
  struct End {
    std::size_t place = 0;  ///< index in the report
    std::string name, file;
    int log2 = 0;               ///< the end: the tensor's lowest or highest scale is 2^log2
    Placed largest;             ///< its largest magnitude
    RangeSummary summary = {};  ///< only set for the lower end
  };

  explicit JointScale(const std::vector<ErrorColumn>& columns) : total_(empty_summary(columns)) {}

  /// Adds a tensor; `place` is its index in the report. If several tensors set the lower end, the
  /// first of them is named; if several set the upper end, the one with the largest magnitude, or
  /// the first of these.
  void add(const TensorReport& tensor, std::size_t place);
  /// Adds all tensors of another JointScale.
  void add(JointScale other);

  const RangeSummary& total() const { return total_; }

  /// Returns the scale. `shares_name` says whether another of the tensors, in another file, has the
  /// same name.
  LossScale scale(const ReportOptions& options,
                  const std::function<bool(const End&)>& shares_name) const;

 private:
  bool is_low(int log2, std::size_t place) const;
  void take_high(End end);

  RangeSummary total_;
  std::optional<End> low_, high_;
};

/// Returns "2^17 = 131072" for 0 to 30, or only "2^40" or "2^-3" for other exponents.
std::string power_of_two(int log2);

}  // namespace binade
