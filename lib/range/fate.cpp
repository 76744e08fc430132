// SPDX-License-Identifier: Apache-2.0
//
// Fates from binades and segments. With e' = exponent + scale, p the precision:
//
//   e' < emin - p, or m = 1 at emin - p       to zero: at most half the smallest subnormal
//   below emin, but not m >= 2 - 2^(1-p) at emin - 1    subnormal
//   e' > emax, or m >= 2 - 2^-p at emax       overflow (e4m3: m > 1.8125)
#include "lib/range/fate.h"

#include <algorithm>
#include <cmath>

namespace binade {
namespace {

constexpr std::uint64_t one = std::uint64_t{1} << summary_fraction_bits;

constexpr Cuts make_cuts(const Format& f) {
  const std::uint64_t normal = 2 * one - (one >> (f.precision - 1));
  const std::uint64_t tie = (2 * f.max_significand() + 1) << (summary_fraction_bits - f.precision);
  const bool tie_overflows = (f.max_significand() & 1) != 0;
  return {segment_of(normal), segment_of(tie_overflows ? tie : tie + 1)};
}

/// Whether the segments change exactly where the format's fates do.
constexpr bool segments_serve(const Format& f) {
  const std::uint64_t normal = 2 * one - (one >> (f.precision - 1));
  const std::uint64_t tie = (2 * f.max_significand() + 1) << (summary_fraction_bits - f.precision);
  const std::uint64_t overflow = (f.max_significand() & 1) != 0 ? tie : tie + 1;
  return segment_of(normal) == segment_of(normal - 1) + 1 &&
         segment_of(overflow) == segment_of(overflow - 1) + 1;
}
static_assert(std::ranges::all_of(report_formats,
                                  [](const NamedFormat& f) { return segments_serve(f.format); }));

enum class Fate { to_zero, subnormal, normal, overflow };

Fate fate_of(const Format& f, const Cuts& cuts, int e, int segment) {
  if (e < f.emin() - f.precision || (e == f.emin() - f.precision && segment == 0)) {
    return Fate::to_zero;
  }
  if (e < f.emin() && !(e == f.emin() - 1 && segment >= cuts.normal)) return Fate::subnormal;
  if (e > f.emax() || (e == f.emax() && segment >= cuts.overflow)) return Fate::overflow;
  return Fate::normal;
}

/// Adds the squares of one binade's values, or of its m = 1 values alone.
void add_squares(ExactSum& sum, const BinadeRow& row, int exponent) {
  for (std::size_t i = 0; i < row.squares.limbs.size(); ++i) {
    sum.add(row.squares.limbs[i],
            2 * (exponent - summary_fraction_bits) + static_cast<int>(64 * i));
  }
}

ExactSum largest_finite(const Format& f, int scale_log2, std::uint64_t count) {
  ExactSum out;
  out.add(static_cast<uint128>(f.max_significand()) * count,
          f.emax() - f.fraction_bits() - scale_log2);
  return out;
}

}  // namespace

Cuts cuts_of(const Format& format) { return make_cuts(format); }

Fates fates(const RangeSummary& summary, const Format& format, int scale_log2) {
  const Cuts cuts = cuts_of(format);
  Fates out;
  for (const auto& [exponent, row] : summary.binades) {
    for (int s = 0; s < segments; ++s) {
      const std::uint64_t n = row.count[static_cast<std::size_t>(s)];
      switch (fate_of(format, cuts, exponent + scale_log2, s)) {
        case Fate::to_zero: out.to_zero += n; break;
        case Fate::subnormal: out.subnormal += n; break;
        case Fate::overflow: out.overflow += n; break;
        case Fate::normal: break;
      }
    }
  }
  return out;
}

Masses masses(const RangeSummary& summary, const Format& format, int scale_log2) {
  const Cuts cuts = cuts_of(format);
  Masses out;
  std::uint64_t overflowing = 0;
  for (const auto& [exponent, row] : summary.binades) {
    const int e = exponent + scale_log2;
    add_squares(out.total_squares, row, exponent);
    if (fate_of(format, cuts, e, segments - 1) == Fate::to_zero) {
      add_squares(out.lost_squares, row, exponent);
    } else if (fate_of(format, cuts, e, 0) == Fate::to_zero) {
      out.lost_squares.add(row.count[0], 2 * exponent);
    }
    for (int s = 0; s < segments; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const Fate fate = fate_of(format, cuts, e, s);
      out.total_l1.add(row.sum[i], exponent - summary_fraction_bits);
      if (fate == Fate::to_zero) out.lost_l1.add(row.sum[i], exponent - summary_fraction_bits);
      if (fate == Fate::overflow) {
        out.clipped_l1.add(row.sum[i], exponent - summary_fraction_bits);
        overflowing += row.count[i];
      }
    }
  }
  out.clipped_l1 -= largest_finite(format, scale_log2, overflowing);
  return out;
}

std::optional<Losses> losses(const RangeSummary& summary, const Format& format, int scale_log2) {
  if (summary.nonzero() == 0) return std::nullopt;
  const Masses m = masses(summary, format, scale_log2);
  return Losses{divide(m.lost_l1, m.total_l1).value(),
                std::sqrt(divide(m.lost_squares, m.total_squares).value()),
                divide(m.clipped_l1, m.total_l1).value()};
}

ExactSum total_squared_error(const RangeSummary& summary, std::size_t column) {
  // Binades above emax round to max: the sum of (|x| - max)² = x² + max² - 2 max |x|.
  const auto& [format, scale_log2] = summary.columns[column];
  const std::uint64_t max = format.max_significand();
  const int max_exponent = format.emax() - format.fraction_bits() - scale_log2;
  ExactSum out = summary.squared_error[column];
  ExactSum twice_max_x;
  for (const auto& [exponent, row] : summary.binades) {
    if (exponent + scale_log2 <= format.emax()) continue;
    add_squares(out, row, exponent);
    out.add_product(static_cast<uint128>(max) * max, row.total(), 2 * max_exponent);
    for (const uint128 sum : row.sum) {
      twice_max_x.add_product(sum, max, exponent - summary_fraction_bits + max_exponent + 1);
    }
  }
  return out -= twice_max_x;
}

std::optional<double> sqnr_db(const RangeSummary& summary, std::size_t column) {
  const ExactSum error = total_squared_error(summary, column);
  if (summary.nonzero() == 0 || error.is_zero()) return std::nullopt;
  ExactSum squares;
  for (const auto& [exponent, row] : summary.binades) add_squares(squares, row, exponent);
  constexpr double decibels_per_binade = 3.0102999566398120;  // 10 log10(2)
  return decibels_per_binade * divide(squares, error).log2();
}

namespace {

/// Largest k such that x·2^k does not overflow.
int largest_scale(const Placed& x, const Format& format) {
  const bool over = segment_of(x.significand) >= cuts_of(format).overflow;
  return format.emax() - x.exponent - (over ? 1 : 0);
}

}  // namespace

ScaleRange scale_range(const RangeSummary& summary) {
  if (summary.nonzero() == 0) return {};
  const bool in_float32 = summary.largest.exponent <= binary32.emax() &&
                          summary.smallest.exponent >= binary32.quantum_exponent();
  return in_float32 ? ScaleRange{} : ScaleRange{binary64.emin(), binary64.emax()};
}

std::optional<int> headroom(const RangeSummary& summary, const Format& format) {
  if (summary.nonzero() == 0) return std::nullopt;
  return largest_scale(summary.largest, format);
}

std::optional<ScaleInterval> scale_interval(const RangeSummary& summary, const Format& format,
                                            int headroom_log2, double target_loss) {
  if (summary.nonzero() == 0) return std::nullopt;
  ExactSum total;
  for (const auto& [exponent, row] : summary.binades) add_squares(total, row, exponent);
  // At scale 2^(tie - e) all binades below e become zero, and the m = 1 values of binade e. The loss
  // grows with e: the smallest scale is the last before it exceeds the target.
  const int tie = format.emin() - format.precision;
  int highest_lost = summary.smallest.exponent - 1;
  ExactSum below;
  const auto loss = [&total](const ExactSum& lost) {
    return std::sqrt(divide(lost, total).value());
  };
  for (const auto& [exponent, row] : summary.binades) {
    if (loss(below) > target_loss) break;
    highest_lost = std::max(highest_lost, exponent - 1);
    ExactSum with_ones = below;
    with_ones.add(row.count[0], 2 * exponent);
    if (loss(with_ones) > target_loss) break;
    highest_lost = exponent;
    add_squares(below, row, exponent);
  }
  const ScaleRange scales = scale_range(summary);
  return ScaleInterval{
      std::max(tie - highest_lost, scales.lowest_log2),
      std::min(largest_scale(summary.largest, format) - headroom_log2, scales.highest_log2)};
}

}  // namespace binade
