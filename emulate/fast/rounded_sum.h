// SPDX-License-Identifier: Apache-2.0
//
// `rounded_sum` of emulate/fused_sum.h, and the sum of two numbers to nearest (`compute` of
// emulate/operation.h), equal in every bit: a few integer operations where the result is a normal
// number; the definitions do the other cases. A sum is an integer of 64 bits in units of
// 2^exponent:
//
//     magnitude   0…0 1xxxxxxx hrrrrrrrr     width: bits from the first 1 on; h is worth half
//                     `- p ---' `-rest--'    drop = width - p bits are cut off
//     to nearest  kept + 1 if rest > half, or if it is a tie and kept is odd; a carry out of p bits is one binade up
//     encoded     sign | exponent + bias | kept without its first 1 | the format's padding
//
//     sum 2885 in units of 2^-10 to p = 8: 10110100 0101, rest 5 < 8, kept 180, result 180 · 2^(4 - 10) = 2.8125
#pragma once

#include <cstdint>

#include "emulate/fused_sum.h"

namespace binade::fast {

/// Equal to `binade::rounded_sum` for a model whose edges do not saturate: sum · 2^exponent on the
/// model's grid, encoded in d, which has a sign and the grid's bias.
constexpr std::uint64_t rounded_sum(std::int64_t sum, int exponent, const DotModel& model,
                                    const Format& d) {
  const Format& g = model.grid;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const int width = bit_width(magnitude);
  int e = exponent + width - 1;
  const bool nearest = model.rounding == Rounding::ties_to_even;
  if (sum == 0 || e < g.emin() || (!nearest && model.rounding != Rounding::toward_zero)) {
    return binade::rounded_sum(sum, exponent, model, d);
  }
  const int drop = width - g.precision;
  std::uint64_t kept = drop > 0 ? magnitude >> drop : magnitude << -drop;
  if (nearest && drop > 0) {
    const std::uint64_t rest = magnitude & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    if (kept >> g.precision != 0) {
      kept >>= 1;
      ++e;
    }
  }
  if (e > g.emax()) return infinity_bits(d, negative);
  const std::uint64_t sign = negative ? std::uint64_t{1} << (d.bits() - 1) : 0;
  const auto field = static_cast<std::uint64_t>(e + d.bias);
  const std::uint64_t fraction = (kept & g.fraction_mask()) << (d.precision - g.precision);
  return (sign | field << d.fraction_bits() | fraction) << d.padding_bits;
}

/// Equal to `compute` of x + y, rounded to nearest in d, with NVIDIA's NaN.
constexpr std::uint64_t nearest_sum(std::uint64_t x_bits, const Format& x_format,
                                    std::uint64_t y_bits, const Format& y_format, const Format& d) {
  const Addend x = addend_of(x_bits, x_format);
  const Addend y = addend_of(y_bits, y_format);
  const int x_unit = x.exponent - x.fraction_bits;
  const int y_unit = y.exponent - y.fraction_bits;
  const int unit = x_unit < y_unit ? x_unit : y_unit;
  const int distance = x_unit < y_unit ? y_unit - x_unit : x_unit - y_unit;
  const bool is_short = x_format.precision <= 24 && y_format.precision <= 24 &&
                        d.specials == Specials::ieee && d.has_sign;
  if (is_short && x.kind == Kind::finite && y.kind == Kind::finite && distance < 32) {
    const auto a = static_cast<std::int64_t>(x.significand << (x_unit - unit));
    const auto b = static_cast<std::int64_t>(y.significand << (y_unit - unit));
    const std::int64_t sum = (x.negative ? -a : a) + (y.negative ? -b : b);
    const DotModel nearest{
        .grid = d, .rounding = Rounding::ties_to_even, .edges = {.cut_keeps_sign = true}};
    return fast::rounded_sum(sum, unit, nearest, d);
  }
  return compute(Operation::add, {x_bits, y_bits, 0}, {x_format, y_format, d}, d,
                 {.nan = NanResult::nvidia})
      .bits;
}

}  // namespace binade::fast
