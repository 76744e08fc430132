// SPDX-License-Identifier: Apache-2.0
//
// The noise by binade, in units of the largest binade, so that no square leaves the range of
// double. With e the exponent after scaling, p the precision and q = 2^(max(e, emin) - p + 1) the
// distance of neighbours:
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
constexpr double ulp_of_one = std::numeric_limits<double>::epsilon();
static_assert(summary_fraction_bits == std::numeric_limits<double>::digits - 1);

/// The sum of squares of a row whose power of two is `unit`.
double squares_of(const BinadeRow& row, double unit) {
  const std::array<std::uint64_t, 3>& limbs = row.squares.limbs;
  const double sum = static_cast<double>(limbs[2]) * 0x1p128 +
                     static_cast<double>(limbs[1]) * 0x1p64 + static_cast<double>(limbs[0]);
  return sum * ulp_of_one * ulp_of_one * unit * unit;
}

/// The moments of a row whose power of two is `unit`, without the values of the segments below
/// `first`, of which only that of m = 1 (segment 0) may be left out.
RoundingNoises::Moments moments_of(const BinadeRow& row, double unit, int first) {
  RoundingNoises::Moments out{.squares = squares_of(row, unit)};
  for (auto s = static_cast<std::size_t>(first); s < segments; ++s) {
    out.count += static_cast<double>(row.count[s]);
    out.sum += static_cast<double>(row.sum[s]);
  }
  out.sum = out.sum * ulp_of_one * unit;
  if (first > 0) out.squares -= static_cast<double>(row.count[0]) * unit * unit;
  return out;
}

RoundingNoises::Spread spread_of(const RoundingNoises::Moments& of) {
  if (of.count == 0) return {};
  const double mean = of.sum / of.count;
  return {of.count, mean, of.around(mean) / of.count};
}

/// The sum of squared errors of values whose neighbours in the format are q apart.
double estimated_error(const RoundingNoises::Spread& of, double q) {
  // Spread by less than a seventh of q they mostly have one nearest number, that of their mean.
  if (48 * of.variance < q * q) {
    const double off = std::remainder(of.mean, q);
    return of.count * (off * off + of.variance);
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
    const auto is_alike = [&](const auto& row) {
      return last_bit(column.format, column.scale_log2, row.first) ==
             last_bit(format, scale_log2, row.first);
    };
    return std::ranges::all_of(s.binades, is_alike) &&
           *headroom(s, column.format) >= column.scale_log2;
  };
  const auto at = std::ranges::find_if(s.columns, serves);
  if (at == s.columns.end()) return {};
  return total_squared_error(s, static_cast<std::size_t>(at - s.columns.begin()));
}

}  // namespace

double RoundingNoises::Moments::around(double at) const {
  return std::max(0.0, squares - 2 * at * sum + count * at * at);
}

RoundingNoises::RoundingNoises(const RangeSummary& summary) : summary_(summary) {
  rows_.reserve(summary.binades.size());
  for (const auto& [exponent, row] : summary.binades) {
    const double unit = std::ldexp(1.0, exponent - summary.largest.exponent);
    const Moments rest = moments_of(row, unit, 1);
    rows_.push_back({exponent, &row, unit, static_cast<double>(row.total()), squares_of(row, unit),
                     rest, spread_of(rest)});
    signal_ += rows_.back().squares;
  }
  signal_log2_ = std::log2(signal_) + 2 * summary.largest.exponent;
}

double RoundingNoises::estimated_noise(const Format& f, int scale_log2) const {
  const int top = summary_.largest.exponent;
  const int tie = f.emin() - f.precision;
  const int to_units = -scale_log2 - top;
  const double max =
      std::ldexp(static_cast<double>(f.max_significand()), f.emax() - f.fraction_bits() + to_units);
  const double least = std::ldexp(1.0, f.emin() - f.fraction_bits() + to_units);
  const double ulp = std::ldexp(1.0, -f.fraction_bits());
  double noise = 0;
  for (const Row& row : rows_) {
    const int e = row.exponent + scale_log2;
    const double q = e < f.emin() ? least : row.unit * ulp;
    if (e > f.emax()) {
      noise += moments_of(*row.counts, row.unit, 0).around(max);
    } else if (e < tie) {
      noise += row.squares;
    } else if (e == tie) {
      noise += row.squares - row.rest.squares + row.rest.around(q);
    } else if (e == f.emax()) {  // what overflows lies between the tie and the next binade
      double count = 0, sum = 0;
      for (auto i = static_cast<std::size_t>(cuts_of(f).overflow); i < segments; ++i) {
        count += static_cast<double>(row.counts->count[i]);
        sum += static_cast<double>(row.counts->sum[i]) * ulp_of_one * row.unit;
      }
      const double mean = count > 0 ? sum / count : 0;
      noise += count * (mean - max) * (mean - max);
      noise += estimated_error(spread_of({row.rest.count - count, row.rest.sum - sum,
                                          std::max(0.0, row.rest.squares - count * mean * mean)}),
                               q);
    } else {
      noise += estimated_error(row.spread, q);
    }
  }
  return std::log2(noise) + 2 * top;
}

RoundingNoise RoundingNoises::at(const Format& f, int scale_log2) const {
  const RangeSummary& s = summary_;
  const bool saturates = *headroom(s, f) < scale_log2;
  const int tie = f.emin() - f.precision - scale_log2;
  double zeros = 0, lost = 0;
  for (const Row& row : rows_) {
    if (row.exponent > tie) break;
    const bool all = row.exponent < tie;
    zeros += row.count - (all ? 0 : row.rest.count);
    lost += row.squares - (all ? 0 : row.rest.squares);
  }
  RoundingNoise out{.lost_l2 = std::sqrt(lost / signal_),
                    .to_zero = zeros / static_cast<double>(s.nonzero()),
                    .estimated = false};
  double noise_log2 = 0;
  if (s.smallest == s.largest && !saturates) {
    const int top = s.largest.exponent;
    const ErrorRule rule = error_rule({f, scale_log2}, top, summary_fraction_bits + 1);
    const auto error = static_cast<double>(rule.error(s.largest.significand));
    noise_log2 = std::log2(static_cast<double>(s.nonzero())) +
                 2 * (std::log2(error) + top - summary_fraction_bits);
  } else if (const std::optional<ExactSum> error =
                 saturates ? std::nullopt : summed_error(s, f, scale_log2)) {
    noise_log2 = to_scaled(*error).log2();
  } else {
    noise_log2 = estimated_noise(f, scale_log2);
    out.estimated = true;
  }
  const bool none = std::isinf(noise_log2) && noise_log2 < 0;
  out.sqnr_db = none ? std::numeric_limits<double>::infinity()
                     : decibels_per_bit * (signal_log2_ - noise_log2);
  return out;
}

}  // namespace binade
