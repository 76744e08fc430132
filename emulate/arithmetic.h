// SPDX-License-Identifier: Apache-2.0
//
// The operations of IEEE 754-2019 5.4.1 and the remainder of 5.3.1, computed exactly: each takes and
// gives an Exact, and `project` rounds once. Operands may come from different formats and the result
// may go to a third.
#pragma once

#include "emulate/project.h"

namespace binade {

/// The NaN that an invalid operation makes.
constexpr Exact invalid_result() {
  return {.kind = Kind::nan, .significand = uint128{1} << 63, .flags = Flag::invalid};
}

/// The NaN that NaN operands make: the first of them; a signaling one anywhere raises invalid.
constexpr Exact nan_operand(const Exact& a, const Exact& b) {
  Exact out = a.kind == Kind::nan ? a : b;
  out.flags |= a.signaling || b.signaling ? Flag::invalid : Flags{0};
  out.flags |= static_cast<Flags>(a.flags | b.flags);
  return out;
}

/// The same number with the highest significand bit at `top`; bits that fall off become sticky.
constexpr Exact with_top_at(Exact x, int top) {
  const int shift = top - (bit_width(x.significand) - 1);
  x.exponent -= shift;
  if (shift >= 0) {
    x.significand <<= shift;
    return x;
  }
  const int drop = -shift;
  x.sticky = x.sticky || (x.significand & ((uint128{1} << drop) - 1)) != 0;
  x.significand >>= drop;
  return x;
}

constexpr Exact zero_of(bool negative) { return {.kind = Kind::zero, .negative = negative}; }

/// Sum of two finite numbers of up to 106 significand bits, in a window whose bits 125 and below
/// hold the larger operand:
///
///      126        125 ............................ 0
///      carry      larger  1xxxxxxxxx00000000000000
///                 smaller 00000001xxxxxxxxx|x sticky
///
/// If bits fall off, the smaller is at least 20 binades below, so at most one bit cancels.
constexpr Exact add_finite(Exact a, Exact b, Rounding rounding) {
  a = with_top_at(a, 125);
  b = with_top_at(b, 125);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) {
    const Exact larger = b;
    b = a;
    a = larger;
  }
  const int distance = a.exponent - b.exponent;
  const bool gone = distance > 127;
  const uint128 shifted = gone ? 0 : b.significand >> distance;
  const bool sticky = gone || (b.significand & ((uint128{1} << distance) - 1)) != 0;
  a.sticky = sticky;
  if (a.negative == b.negative) {
    a.significand += shifted;
    return a;
  }
  // a - (shifted + rest) = (a - shifted - 1) + (1 - rest)
  a.significand -= shifted + (sticky ? 1 : 0);
  if (a.significand == 0 && !sticky) return zero_of(rounding == Rounding::toward_negative);
  return a;
}

/// a + b. An exact zero sum of opposite signs is +0, or -0 toward negative (6.3).
constexpr Exact add(const Exact& a, const Exact& b, Rounding rounding) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  if (a.kind == Kind::infinite || b.kind == Kind::infinite) {
    if (a.kind == b.kind && a.negative != b.negative) return invalid_result();
    return a.kind == Kind::infinite ? a : b;
  }
  if (a.kind == Kind::zero && b.kind == Kind::zero) {
    return zero_of(a.negative == b.negative ? a.negative : rounding == Rounding::toward_negative);
  }
  if (a.kind == Kind::zero) return b;
  if (b.kind == Kind::zero) return a;
  return add_finite(a, b, rounding);
}

constexpr Exact negated(Exact x) {
  x.negative = !x.negative;
  return x;
}

/// a - b; a NaN keeps its sign.
constexpr Exact subtract(const Exact& a, const Exact& b, Rounding rounding) {
  return add(a, b.kind == Kind::nan ? b : negated(b), rounding);
}

/// a · b: the whole product fits.
constexpr Exact multiply(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  const bool negative = a.negative != b.negative;
  const bool infinite = a.kind == Kind::infinite || b.kind == Kind::infinite;
  if (a.kind == Kind::zero || b.kind == Kind::zero) {
    return infinite ? invalid_result() : zero_of(negative);
  }
  if (infinite) return {.kind = Kind::infinite, .negative = negative};
  return {.kind = Kind::finite,
          .negative = negative,
          .exponent = a.exponent + b.exponent,
          .significand = a.significand * b.significand};
}

/// a · b + c, rounded once. 0 · Inf + NaN raises invalid, as Berkeley SoftFloat does (7.2 c leaves
/// it open).
constexpr Exact multiply_add(const Exact& a, const Exact& b, const Exact& c, Rounding rounding) {
  return add(multiply(a, b), c, rounding);
}

/// a / b to at least 117 bits and a sticky one.
constexpr Exact divide(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  const bool negative = a.negative != b.negative;
  if (a.kind == b.kind && a.kind != Kind::finite) return invalid_result();  // 0/0, Inf/Inf
  if (a.kind == Kind::infinite || b.kind == Kind::zero) {
    const Flags by_zero = a.kind == Kind::infinite ? Flags{0} : Flag::divide_by_zero;
    return {.kind = Kind::infinite, .negative = negative, .flags = by_zero};
  }
  if (a.kind == Kind::zero || b.kind == Kind::infinite) return zero_of(negative);
  // Both of 53 bits: q1 = a·2^53/b has 53 or 54 bits, the remainder gives 64 more.
  const Exact x = with_top_at(a, 52);
  const Exact y = with_top_at(b, 52);
  const uint128 scaled = x.significand << 53;
  const uint128 rest = (scaled % y.significand) << 64;
  return {.kind = Kind::finite,
          .negative = negative,
          .sticky = rest % y.significand != 0,
          .exponent = x.exponent - y.exponent - 53 - 64,
          .significand = (scaled / y.significand) << 64 | rest / y.significand};
}

/// Square root to 96 bits and a sticky one, a bit of the root for two of the radicand.
constexpr Exact square_root(const Exact& a) {
  if (a.kind == Kind::nan) return nan_operand(a, a);
  if (a.kind == Kind::zero) return a;
  if (a.negative) return invalid_result();
  if (a.kind == Kind::infinite) return a;
  Exact x = with_top_at(a, 127);
  if (x.exponent % 2 != 0) x = with_top_at(a, 126);
  uint128 root = 0;
  uint128 rest = 0;
  for (int i = 0; i < 96; ++i) {
    rest = rest << 2 | x.significand >> 126;
    x.significand <<= 2;
    const uint128 trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  return {.kind = Kind::finite,
          .sticky = rest != 0,
          .exponent = x.exponent / 2 - 32,
          .significand = root};
}

/// a - b·n for the integer n nearest a/b, ties to even (5.3.1): always exact. A zero has a's sign.
constexpr Exact remainder(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  if (a.kind == Kind::infinite || b.kind == Kind::zero) return invalid_result();
  if (a.kind == Kind::zero || b.kind == Kind::infinite) return a;
  uint128 divisor = b.significand;  // both in units of 2^exponent
  uint128 rest = a.significand;
  uint128 quotient = 0;
  int exponent = a.exponent;
  if (a.exponent < b.exponent) {
    const int up = b.exponent - a.exponent;
    if (up > 64) return a;  // |a| < 2^53 units, |b| > 2^64
    divisor <<= up;
    quotient = rest / divisor;
    rest %= divisor;
  } else {
    exponent = b.exponent;
    quotient = rest / divisor;
    rest %= divisor;
    for (int left = a.exponent - b.exponent; left > 0; left -= 64) {
      const int step = left < 64 ? left : 64;
      quotient = (rest << step) / divisor;
      rest = (rest << step) % divisor;
    }
  }
  const bool up = 2 * rest > divisor || (2 * rest == divisor && (quotient & 1) != 0);
  if (up) rest = divisor - rest;
  if (rest == 0) return zero_of(a.negative);
  return {.kind = Kind::finite,
          .negative = a.negative != up,
          .exponent = exponent,
          .significand = rest};
}

}  // namespace binade
