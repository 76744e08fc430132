// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the values of a summary in a format at any power-of-two scale, exactly: ties to
// even, gradual subnormals. Counts, the share of the norm that dies, and the loss scales between
// which a tensor lives.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "emulate/format.h"
#include "lib/range/summary.h"

namespace binade {

/// The formats a report speaks of; the segments of a summary are cut for these.
inline constexpr std::array<NamedFormat, 5> report_formats{{
    {"binary16", binary16, ""},
    {"bfloat16", bfloat16, ""},
    {"tf32", tf32, ""},
    {"e5m2", e5m2, ""},
    {"e4m3", e4m3, ""},
}};

/// The segments from which on a format's fate changes.
struct Cuts {
  int normal = 0;    ///< at binade emin - 1: rounds up to the smallest normal number
  int overflow = 0;  ///< at binade emax: overflows
};
Cuts cuts_of(const Format& format);

/// Scales are limited to these exponents, the range of a float32 scale.
inline constexpr int lowest_scale_log2 = -126;
inline constexpr int highest_scale_log2 = 127;
/// Of values that float32 does not hold, to those of a float64 scale.
struct ScaleRange {
  int lowest_log2 = lowest_scale_log2, highest_log2 = highest_scale_log2;
};
ScaleRange scale_range(const RangeSummary& summary);

/// Of the finite non-zero values x, what x·2^scale_log2 becomes.
struct Fates {
  std::uint64_t to_zero = 0;
  std::uint64_t subnormal = 0;  ///< non-zero subnormal results
  std::uint64_t overflow = 0;
};
Fates fates(const RangeSummary& summary, const Format& format, int scale_log2);

/// What shares are of: the exact sums of all finite values, in units of x.
struct Norms {
  ExactSum l1, squares;
};
Norms norms(const RangeSummary& summary);

/// Shares of the finite total; nothing where there is no finite non-zero value.
struct Losses {
  double l1 = 0;          ///< sum |x| over values that become zero
  double l2 = 0;          ///< sqrt of sum x² over them; share of sqrt of sum x²
  double clipped_l1 = 0;  ///< sum of |x| - max over values that overflow, as if saturated
};
std::optional<Losses> losses(const RangeSummary& summary, const Format& format, int scale_log2);
std::optional<Losses> losses(const RangeSummary& summary, const Norms& of, const Format& format,
                             int scale_log2);

/// The exact sums behind Losses, in units of x.
struct Masses {
  ExactSum lost_l1, lost_squares, clipped_l1;
};
Masses masses(const RangeSummary& summary, const Format& format, int scale_log2);

/// 10 log10(sum x² / sum err²), overflow counted as saturation; nothing where there is no finite
/// non-zero value or no error at all. `column` indexes summary.columns.
std::optional<double> sqnr_db(const RangeSummary& summary, std::size_t column);
std::optional<double> sqnr_db(const RangeSummary& summary, const Norms& of, std::size_t column);
/// The exact sum of squared errors of a column, saturated values included.
ExactSum total_squared_error(const RangeSummary& summary, std::size_t column);

/// How far the largest magnitude may still be doubled without overflow; negative: it overflows.
std::optional<int> headroom(const RangeSummary& summary, const Format& format);

/// Loss scales between which a format serves the values.
struct ScaleInterval {
  int min_log2 = 0;  ///< smallest whose lost l2 is within the target
  int max_log2 = 0;  ///< largest without overflow at the headroom
  bool empty() const { return min_log2 > max_log2; }
};
/// Nothing where there is no finite non-zero value. Scales are those of scale_range; an empty interval may name
/// an end that none of them reaches.
std::optional<ScaleInterval> scale_interval(const RangeSummary& summary, const Format& format,
                                            int headroom, double target_loss);

/// Its parts, for several formats. The highest e so that the lost l2 is within the target where a scale moves 2^e to a
/// format's tie to zero: all binades below become zero, and the values 2^e. Nothing as above.
std::optional<int> highest_tie(const RangeSummary& summary, const Norms& of, double target_loss);
ScaleInterval interval_of(const RangeSummary& summary, const Format& format, int headroom, int tie);

}  // namespace binade
