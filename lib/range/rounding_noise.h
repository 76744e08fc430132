// SPDX-License-Identifier: Apache-2.0
//
// What rounding to nearest does to the values of a RangeSummary in a format at any power-of-two scale: the share of the
// norm that becomes zero, and the signal-to-quantization-noise ratio, as far as counts and sums by binade tell it.
#pragma once

#include "emulate/format.h"
#include "lib/range/summary.h"

namespace binade {

/// What rounding costs. A value that overflows counts as the largest finite number.
struct RoundingNoise {
  double lost_l2 = 0;  ///< share of the L2 norm that becomes zero
  double to_zero = 0;  ///< share of the finite non-zero values that become zero
  double sqnr_db = 0;  ///< 10 log10(sum x² / sum err²); infinity if there is no error
  /// Whether sqnr_db is estimated: as if the values of a binade lay evenly between the format's numbers, or together
  /// around their mean where the sum of their squares says that they do. Else it follows from squared errors that were
  /// summed, or from one magnitude that all values have.
  bool estimated = true;
};

/// Returns what rounding costs the values times 2^scale_log2. The summary needs a finite non-zero value. The squared
/// errors of a column serve a scale of their own or another one if each binade keeps as many bits at both. Throws Error
/// for formats and scales for which fates() does.
RoundingNoise rounding_noise(const RangeSummary& summary, const Format& format, int scale_log2);

}  // namespace binade
