// SPDX-License-Identifier: Apache-2.0
//
// The fates of values x = m·2^e, by binade and segment of m. With e' = e + scale_log2 and p the
// precision:
//
//   e' < emin - p, or m = 1 at emin - p       to zero: at most half the smallest subnormal
//   below emin, but not m >= 2 - 2^(1-p) at emin - 1    subnormal
//   e' > emax, or m >= 2 - 2^-p at emax       overflow (e4m3: m > 1.8125)
#include "lib/range/fate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/format/format_spec.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::uint64_t one = std::uint64_t{1} << summary_fraction_bits;

constexpr Cuts make_cuts(const Format& f) {
  const std::uint64_t normal = 2 * one - (one >> (f.precision - 1));
  const std::uint64_t tie = (2 * f.max_significand() + 1) << (summary_fraction_bits - f.precision);
  const bool tie_overflows = (f.max_significand() & 1) != 0;
  return {segment_of(normal), segment_of(tie_overflows ? tie : tie + 1)};
}

/// Whether there is a boundary of segments everywhere the format's fate changes, and binary64 has
/// its numbers.
constexpr bool segments_serve(const Format& f) {
  if (!is_valid(f) || !f.has_zero || f.precision < 2 || !fits_in(f, binary64)) return false;
  if (f.precision >= summary_fraction_bits) return false;
  const std::uint64_t normal = 2 * one - (one >> (f.precision - 1));
  const std::uint64_t tie = (2 * f.max_significand() + 1) << (summary_fraction_bits - f.precision);
  const std::uint64_t overflow = (f.max_significand() & 1) != 0 ? tie : tie + 1;
  return segment_of(normal) == segment_of(normal - 1) + 1 &&
         segment_of(overflow) == segment_of(overflow - 1) + 1;
}
static_assert(std::ranges::all_of(report_formats,
                                  [](const NamedFormat& f) { return segments_serve(f.format); }));

/// The fates in one binade: segments [0, zero) become zero, [zero, normal) subnormal, [overflow,
/// segments) overflow.
struct FateCuts {
  int zero = 0, normal = 0, overflow = segments;

  bool all_normal() const { return normal == 0 && overflow == segments; }
};

/// Returns the fates of the binade whose exponent is e after scaling.
FateCuts fate_cuts(const Format& f, const Cuts& cuts, int e) {
  const int tie = f.emin() - f.precision;
  return {.zero = e < tie    ? segments
                  : e == tie ? 1
                             : 0,
          .normal = e < f.emin() - 1    ? segments
                    : e == f.emin() - 1 ? cuts.normal
                                        : 0,
          .overflow = e > f.emax()    ? 0
                      : e == f.emax() ? cuts.overflow
                                      : segments};
}

/// Returns the sum of a row's counts or sums over the segments [first, last).
template <class T>
T sum_between(const std::array<T, segments>& of, int first, int last) {
  T out = 0;
  for (int s = first; s < last; ++s) out += of[static_cast<std::size_t>(s)];
  return out;
}

/// Adds the squares of the values of one binade.
void add_squares(ExactSum& sum, const BinadeRow& row, int exponent) {
  sum.add(row.squares.limbs, 2 * (exponent - summary_fraction_bits));
}

/// Throws Error unless a scale or a headroom lies in the range that the sums have room for.
void require_fate_log2(const char* what, int x) {
  if (x >= lowest_fate_log2 && x <= highest_fate_log2) return;
  throw Error(std::string(what) + " " + std::to_string(x) + ": give an integer from " +
              std::to_string(lowest_fate_log2) + " to " + std::to_string(highest_fate_log2));
}

void require_share(double target_loss) {
  if (target_loss >= 0 && target_loss <= 1) return;  // not so for NaN
  throw Error("target_loss: not a share; give a number from 0 to 1");
}

void require_column(const RangeSummary& summary, std::size_t column) {
  const std::size_t all = std::min(summary.columns.size(), summary.squared_error.size());
  if (column < all) return;
  throw Error("column " + std::to_string(column) + ": the summary has squared errors of " +
              std::to_string(all) + " columns; count the values with this one");
}

/// Returns the largest k such that x·2^k does not overflow. The cuts are those of the format.
int largest_scale(const Placed& x, const Format& format, const Cuts& cuts) {
  const bool over = segment_of(x.significand) >= cuts.overflow;
  return format.emax() - x.exponent - (over ? 1 : 0);
}

/// Returns whether no value becomes zero or overflows. There is one that is finite and not zero.
bool keeps_all(const RangeSummary& s, const Format& format, const Cuts& cuts, int scale_log2) {
  const int tie = format.emin() - format.precision - scale_log2;
  const bool to_zero = s.smallest.exponent < tie ||
                       (s.smallest.exponent == tie && segment_of(s.smallest.significand) == 0);
  return !to_zero && largest_scale(s.largest, format, cuts) >= scale_log2;
}

ExactSum largest_finite(const Format& f, int scale_log2, std::uint64_t count) {
  ExactSum out;
  out.add(static_cast<uint128>(f.max_significand()) * count,
          f.emax() - f.fraction_bits() - scale_log2);
  return out;
}

}  // namespace

Cuts cuts_of(const Format& format) {
  const bool is_row =
      std::ranges::find(report_formats, format, &NamedFormat::format) != report_formats.end();
  if (is_row || segments_serve(format)) return make_cuts(format);
  throw Error((is_valid(format) ? spec_of(format) : "an invalid format") +
              ": a summary does not keep its values apart where their fate changes; give binary16, "
              "bfloat16, tf32, e5m2 or e4m3, or count with quantize()");
}

Fates fates(const RangeSummary& summary, const Format& format, int scale_log2) {
  const Cuts cuts = cuts_of(format);
  require_fate_log2("scale_log2", scale_log2);
  Fates out;
  for (const auto& [exponent, row] : summary.binades) {
    const FateCuts of = fate_cuts(format, cuts, exponent + scale_log2);
    if (of.all_normal()) continue;
    out.to_zero += sum_between(row.count, 0, of.zero);
    out.subnormal += sum_between(row.count, of.zero, of.normal);
    out.overflow += sum_between(row.count, of.overflow, segments);
  }
  return out;
}

Norms norms(const RangeSummary& summary) {
  Norms out;
  for (const auto& [exponent, row] : summary.binades) {
    out.l1.add(sum_between(row.sum, 0, segments), exponent - summary_fraction_bits);
    add_squares(out.squares, row, exponent);
  }
  return out;
}

Masses masses(const RangeSummary& summary, const Format& format, int scale_log2) {
  const Cuts cuts = cuts_of(format);
  require_fate_log2("scale_log2", scale_log2);
  Masses out;
  std::uint64_t overflowing = 0;
  for (const auto& [exponent, row] : summary.binades) {
    const FateCuts of = fate_cuts(format, cuts, exponent + scale_log2);
    if (of.all_normal()) continue;
    const int unit = exponent - summary_fraction_bits;
    out.lost_l1.add(sum_between(row.sum, 0, of.zero), unit);
    out.clipped_l1.add(sum_between(row.sum, of.overflow, segments), unit);
    overflowing += sum_between(row.count, of.overflow, segments);
    if (of.zero == segments) {
      add_squares(out.lost_squares, row, exponent);
    } else if (of.zero > 0) {
      out.lost_squares.add(row.count[0], 2 * exponent);
    }
  }
  if (overflowing > 0) out.clipped_l1 -= largest_finite(format, scale_log2, overflowing);
  return out;
}

std::optional<Losses> losses(const RangeSummary& summary, const Norms& of, const Format& format,
                             int scale_log2) {
  const Cuts cuts = cuts_of(format);
  require_fate_log2("scale_log2", scale_log2);
  if (summary.nonzero() == 0) return std::nullopt;
  if (keeps_all(summary, format, cuts, scale_log2)) return Losses{};
  const Masses m = masses(summary, format, scale_log2);
  return Losses{share_of(m.lost_l1, of.l1), root_share_of(m.lost_squares, of.squares),
                share_of(m.clipped_l1, of.l1)};
}

std::optional<Losses> losses(const RangeSummary& summary, const Format& format, int scale_log2) {
  return losses(summary, norms(summary), format, scale_log2);
}

ExactSum total_squared_error(const RangeSummary& summary, std::size_t column) {
  require_column(summary, column);
  // Values in binades above emax saturate at max, so their squared errors are (|x| - max)² = x² +
  // max² - 2 max |x|.
  const auto& [format, scale_log2] = summary.columns[column];
  const std::uint64_t max = format.max_significand();
  const int max_exponent = format.emax() - format.fraction_bits() - scale_log2;
  ExactSum out = summary.squared_error[column];
  const auto first = summary.binades.lower_bound(format.emax() - scale_log2 + 1);
  if (first == summary.binades.end()) return out;
  ExactSum twice_max_x;
  for (auto at = first; at != summary.binades.end(); ++at) {
    const auto& [exponent, row] = *at;
    add_squares(out, row, exponent);
    out.add_product(static_cast<uint128>(max) * max, row.total(), 2 * max_exponent);
    twice_max_x.add_product(sum_between(row.sum, 0, segments), max,
                            exponent - summary_fraction_bits + max_exponent + 1);
  }
  return out -= twice_max_x;
}

std::optional<double> sqnr_db(const RangeSummary& summary, const Norms& of, std::size_t column) {
  require_column(summary, column);
  if (summary.nonzero() == 0) return std::nullopt;
  const ExactSum error = total_squared_error(summary, column);
  if (error.is_zero()) return std::nullopt;
  constexpr double decibels_per_binade = 3.0102999566398120;  // 10 log10(2)
  return decibels_per_binade * divide(of.squares, error).log2();
}

std::optional<double> sqnr_db(const RangeSummary& summary, std::size_t column) {
  return sqnr_db(summary, norms(summary), column);
}

std::optional<int> headroom(const RangeSummary& summary, const Format& format) {
  const Cuts cuts = cuts_of(format);
  if (summary.nonzero() == 0) return std::nullopt;
  return largest_scale(summary.largest, format, cuts);
}

std::optional<int> highest_tie(const RangeSummary& summary, const Norms& of, double target_loss) {
  require_share(target_loss);
  if (summary.nonzero() == 0) return std::nullopt;
  const auto is_too_much = [&](const ExactSum& lost) {
    return compare_root(lost, of.squares, target_loss) > 0;
  };
  // The sum of all squares is at least 4^largest, and the squares of n values up to 2^e sum to at
  // most n·4^e. While that bound is at most half the target, far from where the rounding of
  // logarithms and roots matters, no exact division is needed.
  const double divided_above = summary.largest.exponent + std::log2(target_loss) - 1 -
                               0.5 * std::log2(static_cast<double>(summary.nonzero()));
  // The loss grows with e, so the highest e is the last one before the loss exceeds the target.
  int out = summary.smallest.exponent - 1;
  ExactSum below;
  for (const auto& [exponent, row] : summary.binades) {
    const bool may_be_too_much = exponent > divided_above;
    if (may_be_too_much && is_too_much(below)) break;
    out = std::max(out, exponent - 1);
    if (may_be_too_much && row.count[0] > 0) {
      ExactSum with_ones = below;
      with_ones.add(row.count[0], 2 * exponent);
      if (is_too_much(with_ones)) break;
    }
    out = exponent;
    add_squares(below, row, exponent);
  }
  return out;
}

ScaleInterval interval_of(const RangeSummary& summary, const Format& format, int headroom_log2,
                          int tie) {
  const Cuts cuts = cuts_of(format);
  require_fate_log2("headroom", headroom_log2);
  return {
      std::max(format.emin() - format.precision - tie, lowest_scale_log2),
      std::min(largest_scale(summary.largest, format, cuts) - headroom_log2, highest_scale_log2)};
}

std::optional<ScaleInterval> scale_interval(const RangeSummary& summary, const Format& format,
                                            int headroom_log2, double target_loss) {
  static_cast<void>(cuts_of(format));
  require_fate_log2("headroom", headroom_log2);
  const std::optional<int> tie = highest_tie(summary, norms(summary), target_loss);
  if (!tie) return std::nullopt;
  return interval_of(summary, format, headroom_log2, *tie);
}

}  // namespace binade
