// SPDX-License-Identifier: Apache-2.0
//
// Numbers of about 106 significand bits as unevaluated sums of two doubles, for results that a
// double does not decide: Dekker's and Knuth's exact sums and products, without fused operations
// (which would not change any bit of them). Sums of operands with equal signs, products and
// quotients have a relative error below 2^-100, if no operand is near an end of binary64's range.
//
//     1/3         0.0101010101…01010101 0101…      binary expansion
//     high = 1.5555555555555p-2 (hexadecimal)      bits of weight 2^-2 to 2^-54
//     low  = 1.5555555555555p-56                   bits of weight 2^-56 to 2^-108
#pragma once

#include <bit>
#include <cstdint>

#include "emulate/compiler.h"

namespace binade {

/// The number high + low, where |low| is at most half an ulp of high.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// Returns a + b exactly (Knuth, TAOCP 2, 4.2.2, theorem B).
constexpr DoubleDouble exact_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// Returns a + b exactly if |a| >= |b| or a is 0, in fewer operations than exact_sum (Dekker 1971).
constexpr DoubleDouble exact_sum_ordered(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Returns a·b exactly. Each factor is split into two halves of at most 26 bits, whose products a
/// double holds exactly (Veltkamp, Dekker 1971):
///
///     a          1xxxxxxxxxxxxxxxxxxxxxxxxx xxxxxxxxxxxxxxxxxxxxxxxxxxx
///     a_high     1xxxxxxxxxxxxxxxxxxxxxxxxx                               a to 26 bits, to nearest
///     a_low                                ± xxxxxxxxxxxxxxxxxxxxxxxxxx   26 bits and a sign
constexpr DoubleDouble exact_product(double a, double b) {
  const auto upper_half = [](double x) {
    const double scaled = 134217729 * x;  // 2^27 + 1
    return scaled - (scaled - x);
  };
  const double product = a * b;
  const double a_high = upper_half(a);
  const double b_high = upper_half(b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

constexpr DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

/// Returns a + b, rounded to a double-double.
constexpr DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = exact_sum(a.high, b.high);
  const DoubleDouble low = exact_sum(a.low, b.low);
  const DoubleDouble sum = exact_sum_ordered(high.high, high.low + low.high);
  return exact_sum_ordered(sum.high, sum.low + low.low);
}

/// Returns a·b, rounded to a double-double; a.low·b.low is left out.
constexpr DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = exact_product(a.high, b.high);
  return exact_sum_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/// Returns a/b by long division: two quotient digits, each a double, and the quotient of what then
/// remains.
constexpr DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a + -(b * DoubleDouble{first});
  const double second = rest.high / b.high;
  const DoubleDouble last = rest + -(b * DoubleDouble{second});
  return exact_sum_ordered(first, second) + DoubleDouble{last.high / b.high};
}

/// Returns high + low rounded to odd, without a branch. A second rounding in any direction, to a
/// precision that is at least two bits smaller, gives what one rounding of the sum would give,
/// because the result lies on the same side of every rounding boundary as the sum (Boldo and
/// Melquiond 2008).
///
///     sum      1xxxxxxxxxx…xxxxxxxxxx…xxx 1            high + low, beyond 53 bits
///     high     1xxxxxxxxxx…xxxxxxxxxxx                 the double nearest to the sum
///     to odd   1xxxxxxxxxx…xxxxxxxxxx1                 the neighbour of the sum whose last bit is 1
constexpr double to_odd(DoubleDouble x) {
  const auto bits = std::bit_cast<std::uint64_t>(x.high);
  const std::uint64_t is_lost = x.low < 0 || x.low > 0 ? 1 : 0;  // low is a NaN if high is infinite
  // If low has the other sign, |high| is above the sum: the sum is cut toward zero first.
  const std::uint64_t is_beyond = (x.low < 0) != (x.high < 0) ? 1 : 0;
  return std::bit_cast<double>((bits - (is_lost & is_beyond & ~bits)) | is_lost);
}

/// Returns high + low rounded once to binary32, ties to even.
constexpr float rounded_to_float(DoubleDouble x) { return static_cast<float>(to_odd(x)); }

}  // namespace binade
