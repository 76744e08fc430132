// SPDX-License-Identifier: Apache-2.0
//
// What rounding to nearest does to the values of a RangeSummary in a format at any power-of-two
// scale: the share of the norm that becomes zero, and the signal-to-quantization-noise ratio, as
// far as counts and sums by binade tell it.
#pragma once

#include <vector>

#include "emulate/format.h"
#include "lib/range/summary.h"

namespace binade {

/// What rounding costs. A value that overflows counts as the largest finite number.
struct RoundingNoise {
  double lost_l2 = 0;  ///< share of the L2 norm that becomes zero
  double to_zero = 0;  ///< share of the finite non-zero values that become zero
  double sqnr_db = 0;  ///< 10 log10(sum x² / sum err²); infinity if there is no error
  /// Whether sqnr_db is estimated: as if the values of a binade lay evenly between the format's
  /// numbers, or together around their mean where the sum of their squares says that they do. Else
  /// it follows from squared errors that were summed, or from one magnitude that all values have.
  bool estimated = true;
};

/// The noise of one summary in any formats and at any scales; what depends on the summary alone is
/// computed once.
class RoundingNoises {
 public:
  /// The summary needs a finite non-zero value and must outlive this object.
  explicit RoundingNoises(const RangeSummary& summary);

  /// Returns what rounding costs the values times 2^scale_log2. The squared errors of a column
  /// serve a scale of their own or another one if each binade keeps as many bits at both. Throws
  /// Error for formats for which fates() does.
  RoundingNoise at(const Format& format, int scale_log2) const;

  /// Sums over some values of one binade, in units of the largest binade.
  struct Moments {
    double count = 0, sum = 0, squares = 0;

    /// The sum of (x - at)², not below zero.
    double around(double at) const;
  };
  struct Spread {
    double count = 0, mean = 0, variance = 0;
  };

 private:
  struct Row {
    int exponent;
    const BinadeRow* counts;
    double unit;            ///< the power of two of the binade
    double count, squares;  ///< of all values
    Moments rest;           ///< of all values but powers of two
    Spread spread;          ///< of the rest
  };

  /// Returns log2 of the sum of squared errors.
  double estimated_noise(const Format& format, int scale_log2) const;

  const RangeSummary& summary_;
  std::vector<Row> rows_;
  double signal_ = 0;       ///< the sum of squares in units of the largest binade
  double signal_log2_ = 0;  ///< its log2 in units of 1
};

}  // namespace binade
