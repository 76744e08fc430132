// SPDX-License-Identifier: Apache-2.0
//
// The loss scale for a format, of one tensor or of many together, and its explanation in words.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/tensor_report.h"

namespace binade {

/// Returns the scale for the values of one summary, without its reason. `of` are its norms, `tie`
/// is its highest_tie().
LossScale loss_scale_of(const RangeSummary& summary, const Norms& of, std::optional<int> tie,
                        const ReportOptions& options);
/// Returns the reason of a scale of one summary.
std::string scale_words(const LossScale& scale, const ReportOptions& options);

/// Finds one scale for many tensors, at which none overflows and none loses more than the target;
/// if there is none, the largest at which none overflows. Gradients of weights whose share of the
/// L2 norm of all of these is at most 2^negligible_log2 may lose more. Tensors may be added in any
/// order, which does not change the result. Only the sum of their summaries and the few tensors
/// that may set the ends are kept, which are the same for every format.
class JointScale {
 public:
  /// A tensor that may set an end of the interval of scales.
  struct End {
    std::size_t place = 0;  ///< index in the report
    std::string name, file;
    int tie = 0;                ///< TensorReport::tie
    Placed largest;             ///< its largest magnitude
    RangeSummary summary = {};  ///< only set for a lower end
    /// log2 of the sum of its squares; infinite for what is never negligible.
    double squares_log2 = 0;
  };

  explicit JointScale(const std::vector<ErrorColumn>& columns) : total_(empty_summary(columns)) {}

  /// Adds a tensor; `place` is its index in the report. If several tensors set the lower end, the
  /// first of them is named; for the upper end, the one with the largest magnitude, or the first of
  /// these.
  void add(const TensorReport& tensor, std::size_t place);
  /// Adds all tensors of another JointScale, of which what is negligible there stays so.
  void add(JointScale other);

  const RangeSummary& total() const { return total_; }

  /// Returns the scale. `shares_name` says whether another of the tensors, in another file, has the
  /// same name.
  LossScale scale(const ReportOptions& options,
                  const std::function<bool(const End&)>& shares_name) const {
    return scale(options, shares_name, format_of_scale(options));
  }
  LossScale scale(const ReportOptions& options, const std::function<bool(const End&)>& shares_name,
                  const NamedFormat& format) const;

 private:
  struct OfWeights {
    std::size_t place;
    std::string name;
    double squares_log2;
  };

  /// At most which log2 of the sum of squares is negligible; minus infinity if none is.
  double negligible_squares_log2() const;
  bool is_higher(const Placed& largest, std::size_t place) const;
  Negligible negligible() const;
  AtFloor at_floor() const;
  const End* low() const;
  void take_low(End end);

  RangeSummary total_;
  ExactSum weight_squares_;         ///< of the gradients of weights
  std::vector<OfWeights> weights_;  ///< gradients of weights that are not all zero
  Negligible settled_;              ///< of those that other JointScales found
  std::size_t settled_place_ = 0;   ///< of settled_.first
  std::vector<OfWeights>
      at_floor_;  ///< tensors at the floor, with infinite squares_log2 if they are never negligible
  std::vector<End> lows_;  ///< none asks for more than one that weighs as much
  std::optional<End> high_;
  std::size_t served_ = 0, scaled_ = 0;
};

/// What LossScale::reason calls negligible: 2^-18 of a norm is 32 roundings of binary32, as sums
/// leave of zero.
inline constexpr int negligible_log2 = -18;

/// Returns whether the norm of some gradients of weights is so small a share of the norm of all of
/// them. Never so if all are zero.
bool is_negligible(const RangeSummary& some, const RangeSummary& all);

/// Chooses the margin below the largest scale (ScaleChoice::margin) from the largest scales of a
/// run's steps in the format of the scale, where it is asked for, and fills over_run. Keeps within
/// the interval's upper half. `gradients` is the summary that the scale is of.
void take_margin(LossScale& scale, std::vector<int> largest_scales, const RangeSummary& gradients,
                 const ReportOptions& options);

/// Returns "2^17 = 131072" for 0 to 30, or only "2^40" or "2^-3" for other exponents.
std::string power_of_two(int log2);

}  // namespace binade
