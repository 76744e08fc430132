// SPDX-License-Identifier: Apache-2.0
//
// The noise by binade, in units of the largest binade, so that no square leaves the range of double. With e the exponent
// after scaling, p the precision and q = 2^(max(e, emin) - p + 1) the distance of neighbours:
//
//   e > emax            saturated                                   exact: from the counts and sums
//   e < emin - p        zero                                        exact: the squares themselves
//   e = emin - p        zero (m = 1) or the smallest subnormal      exact: from the counts and sums
//   else                m = 1 is a number of the format; the others have an error of up to q/2
#include "lib/range/rounding_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "lib/range/fate.h"

namespace binade {
namespace {

constexpr double decibels_per_bit = 3.0102999566398120;  // 10 log10(2)

double rounded(const SquareSum& x) {
  return std::ldexp(static_cast<double>(x.limbs[2]), 128) +
         std::ldexp(static_cast<double>(x.limbs[1]), 64) + static_cast<double>(x.limbs[0]);
}

/// Counts and sums of some values of one binade.
struct Moments {
  double count = 0, sum = 0, squares = 0;

  /// The sum of (x - at)², not below zero.
  double around(double at) const { return std::max(0.0, squares - 2 * at * sum + count * at * at); }
};

/// The moments of a row in units of 2^top, without the values of the segments below `first`, of
/// which only that of m = 1 (segment 0) may be left out.
Moments moments_of(const BinadeRow& row, int exponent, int top, int first) {
  Moments out{.squares =
                  std::ldexp(rounded(row.squares), 2 * (exponent - top - summary_fraction_bits))};
  for (auto s = static_cast<std::size_t>(first); s < segments; ++s) {
    out.count += static_cast<double>(row.count[s]);
    out.sum += static_cast<double>(row.sum[s]);
  }
  out.sum = std::ldexp(out.sum, exponent - top - summary_fraction_bits);
  if (first > 0) {
    out.squares -= std::ldexp(static_cast<double>(row.count[0]), 2 * (exponent - top));
  }
  return out;
}

/// The sum of squared errors of values whose neighbours in the format are q apart.
double estimated_error(const Moments& of, double q) {
  if (of.count == 0) return 0;
  const double mean = of.sum / of.count;
  const double spread = of.around(mean) / of.count;
  // Spread by less than a seventh of q they mostly have one nearest number, that of their mean.
  if (48 * spread < q * q) {
    const double off = std::remainder(mean, q);
    return of.count * (off * off + spread);
  }
  return of.count * q * q / 12;
}

/// The weight of the last bit that a binade keeps, as an exponent after which the scale is undone.
int last_bit(const Format& f, int scale_log2, int exponent) {
  return std::max(exponent + scale_log2, f.emin()) - f.precision - scale_log2;
}

/// Returns the sum of squared errors of a column that has the same error in every binade.
std::optional<ExactSum> summed_error(const RangeSummary& s, const Format& format, int scale_log2) {
  const auto serves = [&](const ErrorColumn& column) {
    const std::optional<int> room = headroom(s, column.format);
    return *room >= column.scale_log2 && std::ranges::all_of(s.binades, [&](const auto& row) {
      return last_bit(column.format, column.scale_log2, row.first) ==
             last_bit(format, scale_log2, row.first);
    });
  };
  if (*headroom(s, format) < scale_log2) return {};
  const auto at = std::ranges::find_if(s.columns, serves);
  if (at == s.columns.end()) return {};
  return total_squared_error(s, static_cast<std::size_t>(at - s.columns.begin()));
}

}  // namespace

RoundingNoise rounding_noise(const RangeSummary& s, const Format& f, int scale_log2) {
  static_cast<void>(cuts_of(f));
  const int top = s.largest.exponent;
  const int tie = f.emin() - f.precision;
  const int to_units = -scale_log2 - top;
  const double max =
      std::ldexp(static_cast<double>(f.max_significand()), f.emax() - f.fraction_bits() + to_units);
  const int over = cuts_of(f).overflow;
  double signal = 0, zeros = 0, lost = 0, noise = 0;
  for (const auto& [exponent, row] : s.binades) {
    const int e = exponent + scale_log2;
    const Moments all = moments_of(row, exponent, top, 0);
    signal += all.squares;
    if (e > f.emax()) {
      noise += all.around(max);
      continue;
    }
    if (e < tie) {
      zeros += all.count;
      lost += all.squares;
      noise += all.squares;
      continue;
    }
    Moments rest = moments_of(row, exponent, top, 1);
    const double q = std::ldexp(1.0, std::max(e, f.emin()) - f.fraction_bits() + to_units);
    if (e == tie) {
      zeros += all.count - rest.count;
      lost += all.squares - rest.squares;
      noise += all.squares - rest.squares + rest.around(q);
      continue;
    }
    if (e == f.emax()) {  // what overflows lies between the tie and the next binade
      double count = 0, sum = 0;
      for (auto i = static_cast<std::size_t>(over); i < segments; ++i) {
        count += static_cast<double>(row.count[i]);
        sum += std::ldexp(static_cast<double>(row.sum[i]), exponent - top - summary_fraction_bits);
      }
      const double mean = count > 0 ? sum / count : 0;
      noise += count * (mean - max) * (mean - max);
      rest = {rest.count - count, rest.sum - sum,
              std::max(0.0, rest.squares - count * mean * mean)};
    }
    noise += estimated_error(rest, q);
  }
  RoundingNoise out{.lost_l2 = std::sqrt(lost / signal),
                    .to_zero = zeros / static_cast<double>(s.nonzero())};
  const double signal_bits = std::log2(signal) + 2 * top;
  double noise_bits = std::log2(noise) + 2 * top;
  if (s.smallest == s.largest && *headroom(s, f) >= scale_log2) {
    const ErrorRule rule = error_rule({f, scale_log2}, top, summary_fraction_bits + 1);
    const auto error = static_cast<double>(rule.error(s.largest.significand));
    noise_bits = std::log2(static_cast<double>(s.nonzero())) +
                 2 * (std::log2(error) + top - summary_fraction_bits);
    out.estimated = false;
  } else if (const std::optional<ExactSum> error = summed_error(s, f, scale_log2)) {
    noise_bits = to_scaled(*error).log2();
    out.estimated = false;
  }
  const bool none = std::isinf(noise_bits) && noise_bits < 0;
  out.sqnr_db = none ? std::numeric_limits<double>::infinity()
                     : decibels_per_bit * (signal_bits - noise_bits);
  return out;
}

}  // namespace binade
