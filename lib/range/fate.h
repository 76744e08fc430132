// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the values of a RangeSummary in a format at any power-of-two scale (their fate:
// zero, subnormal, normal or overflow), exactly, with rounding to nearest, ties to even, and
// gradual underflow: counts, the share of the norm that is lost, and the loss scales at which a
// format loses little enough.
//
// A summary keeps values apart at the cuts of its segments (emulate/range_count.h), so all this is
// exact for formats whose fates change at those cuts: the report's five, and others as e5m2fnuz,
// e3m2, e5m7 or e4m3 with another bias. For all others (binary32, e4m3fnuz, e2m1, e8m0 …) each
// function that takes a format throws Error, as it does for a scale_log2 or a headroom below
// lowest_fate_log2 or above highest_fate_log2, and for a target loss that is no share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "emulate/format.h"
#include "lib/range/summary.h"

namespace binade {

/// The formats that a report covers. The segments of a summary (emulate/range_count.h) are cut
/// where the fates of these formats change.
inline constexpr std::array<NamedFormat, 5> report_formats{{
    {"binary16", binary16, ""},
    {"bfloat16", bfloat16, ""},
    {"tf32", tf32, ""},
    {"e5m2", e5m2, ""},
    {"e4m3", e4m3, ""},
}};

/// A value's fate depends on its binade and, in three binades of each format, on its segment. In
/// two of them values have another fate from the segment given here on than in the segments below.
/// The third is emin - p, where only the power of two becomes zero: that cut is always segment 1.
struct Cuts {
  int normal = 0;    ///< at binade emin - 1: values round up to the smallest normal number
  int overflow = 0;  ///< at binade emax: values overflow
};
Cuts cuts_of(const Format& format);

/// What scale_log2 and headroom may be below: enough to move any binary64 from one end of any
/// format to the other.
inline constexpr int lowest_fate_log2 = -1220, highest_fate_log2 = 1220;

/// Loss scales and scales of tensors are powers of two with exponents in this range, whatever the
/// values: they are kept in binary32, as normal numbers whose reciprocals it holds too.
inline constexpr int lowest_scale_log2 = -126;
inline constexpr int highest_scale_log2 = 127;

/// Counts of the finite non-zero values x by what x·2^scale_log2 becomes in the format.
struct Fates {
  std::uint64_t to_zero = 0;
  std::uint64_t subnormal = 0;  ///< results that are subnormal and not zero
  std::uint64_t overflow = 0;
};
Fates fates(const RangeSummary& summary, const Format& format, int scale_log2);

/// Sums over all finite values x: of |x| and of x². Shares are relative to these.
struct Norms {
  ExactSum l1, squares;
};
Norms norms(const RangeSummary& summary);

/// Shares of the sums over all finite values, as share_of() and root_share_of() round them.
/// Saturation cuts |x| - max·2^-scale_log2 off if x·2^scale_log2 overflows. losses() returns
/// nothing if there is no finite non-zero value.
struct Losses {
  double l1 = 0;          ///< share of sum |x| that becomes zero
  double l2 = 0;          ///< sqrt of the share of sum x² that becomes zero
  double clipped_l1 = 0;  ///< share of sum |x| that saturation cuts off
};
std::optional<Losses> losses(const RangeSummary& summary, const Format& format, int scale_log2);
std::optional<Losses> losses(const RangeSummary& summary, const Norms& of, const Format& format,
                             int scale_log2);

/// The exact sums from which Losses are computed, in units of x (not scaled).
struct Masses {
  ExactSum lost_l1, lost_squares, clipped_l1;
};
Masses masses(const RangeSummary& summary, const Format& format, int scale_log2);

/// Returns the signal-to-quantization-noise ratio 10 log10(sum x² / sum err²), where overflowing
/// values saturate; nothing if there is no finite non-zero value or no error at all. `column` is an
/// index into summary.columns: a format and a scale whose squared errors were summed (ErrorColumn).
std::optional<double> sqnr_db(const RangeSummary& summary, std::size_t column);
std::optional<double> sqnr_db(const RangeSummary& summary, const Norms& of, std::size_t column);
/// Returns the exact sum of squared errors of a column, those of saturated values included. All
/// three throw Error if the summary has no such column.
ExactSum total_squared_error(const RangeSummary& summary, std::size_t column);

/// Returns how many times the largest magnitude can be doubled without overflow. It is negative if
/// that magnitude overflows, and nothing if there is no finite non-zero value.
std::optional<int> headroom(const RangeSummary& summary, const Format& format);

/// The loss scales, as exponents of two, at which the lost L2 norm is within a target and the
/// largest magnitude, times 2^headroom, does not overflow.
struct ScaleInterval {
  int min_log2 = 0;  ///< the smallest that loses at most the target
  int max_log2 = 0;  ///< the largest without overflow
  bool empty() const { return min_log2 > max_log2; }
};
/// Returns the interval for a format, or nothing if there is no finite non-zero value.
/// `target_loss` is a share of the L2 norm, from 0 to 1, with which the exact share is compared: at
/// 0 nothing is lost. min_log2 is at least lowest_scale_log2 and max_log2 at most
/// highest_scale_log2; if the interval is empty, min_log2 may lie above that range and max_log2
/// below it.
std::optional<ScaleInterval> scale_interval(const RangeSummary& summary, const Format& format,
                                            int headroom, double target_loss);

/// The two steps of scale_interval(), for callers that need several formats. highest_tie() does not
/// depend on the format: it returns the highest e for which all binades below e and the values 2^e
/// themselves may become zero without losing more than the target. A scale does just that if it
/// moves 2^e to half the format's smallest subnormal, the tie that rounds to zero. highest_tie()
/// returns nothing if there is no finite non-zero value. interval_of() makes the interval of a
/// format, given that e as `tie`.
std::optional<int> highest_tie(const RangeSummary& summary, const Norms& of, double target_loss);
ScaleInterval interval_of(const RangeSummary& summary, const Format& format, int headroom, int tie);

}  // namespace binade
