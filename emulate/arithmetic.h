// SPDX-License-Identifier: Apache-2.0
//
// The operations of IEEE 754-2019 5.4.1 and the remainder of 5.3.1, computed exactly: each takes
// and returns an Exact (codec.h), and `project` (project.h) rounds it once. Operands may come from
// different formats and the result may go to a third. Numbers in parentheses are clauses of IEEE
// 754-2019.
//
// What a finite result of operands with up to 53 significand bits holds of its 128-bit significand:
//
//                 bit 126   125      117        105    95               0
//     a + b, fma      [carry][ larger operand, its top bit at 125       ] sticky
//     a / b                          [ 53 or 54 bits ][ 64 more bits     ] sticky
//     a · b                                     [ the whole product     ]
//     sqrt(a)                                          [ 96 bits        ] sticky
//
// `sticky` says that the exact result has further non-zero bits below.
#pragma once

#include "emulate/project.h"

namespace binade {

/// Returns the NaN of an invalid operation: positive and quiet, with the flag invalid.
constexpr Exact invalid_result() {
  return {.kind = Kind::nan, .significand = uint128{1} << 63, .flags = Flag::invalid};
}

/// Returns the result of an operation with a NaN operand: the first operand that is a NaN. The flag
/// invalid is raised if either operand is a signaling NaN.
constexpr Exact nan_operand(const Exact& a, const Exact& b) {
  Exact out = a.kind == Kind::nan ? a : b;
  out.flags |= a.signaling || b.signaling ? Flag::invalid : Flags{0};
  out.flags |= static_cast<Flags>(a.flags | b.flags);
  return out;
}

/// Returns the same finite non-zero number with its highest significand bit moved to bit `top` (0
/// to 127). Bits that are shifted out at the low end are recorded in `sticky`.
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

/// Returns a zero with a sign.
constexpr Exact zero_of(bool negative) { return {.kind = Kind::zero, .negative = negative}; }

/// Returns whether a zero sum of operands with opposite signs is -0 (6.3): toward negative alone,
/// in which negative numbers go up, and positive ones do not.
constexpr bool zero_sum_is_negative(Rounding rounding) {
  constexpr RoundingRule::BySign never{Up::never, Up::never},
      always{Up::above_zero, Up::above_zero};
  return rule_of(rounding) == RoundingRule{never, always};
}

/// Returns the sum of two non-zero finite numbers of up to 106 significand bits. The larger
/// operand's top bit is moved to bit 125, and the smaller operand is shifted to the same unit:
///
///      126        125 ............................ 0
///      carry      larger  1xxxxxxxxx00000000000000
///                 smaller 00000001xxxxxxxxx|x sticky
///
/// Bits of the smaller operand fall off only if it lies more than 20 binades below the larger one;
/// then at most one leading bit cancels in a difference.
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
  // With 0 < rest < 1 for the bits that fell off:
  // a - (shifted + rest) = (a - shifted - 1) + (1 - rest), and 1 - rest is sticky again.
  a.significand -= shifted + (sticky ? 1 : 0);
  if (a.significand == 0 && !sticky) return zero_of(zero_sum_is_negative(rounding));
  return a;
}

/// Returns a + b. A zero sum of operands with opposite signs is +0, or -0 if rounding is toward
/// negative (6.3). Inf - Inf is invalid.
constexpr Exact add(const Exact& a, const Exact& b, Rounding rounding) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  if (a.kind == Kind::infinite || b.kind == Kind::infinite) {
    if (a.kind == b.kind && a.negative != b.negative) return invalid_result();
    return a.kind == Kind::infinite ? a : b;
  }
  if (a.kind == Kind::zero && b.kind == Kind::zero) {
    return zero_of(a.negative == b.negative ? a.negative : zero_sum_is_negative(rounding));
  }
  if (a.kind == Kind::zero) return b;
  if (b.kind == Kind::zero) return a;
  return add_finite(a, b, rounding);
}

/// Returns x with the opposite sign.
constexpr Exact negated(Exact x) {
  x.negative = !x.negative;
  return x;
}

/// Returns a - b. A NaN operand b is not negated, so it keeps its sign.
constexpr Exact subtract(const Exact& a, const Exact& b, Rounding rounding) {
  return add(a, b.kind == Kind::nan ? b : negated(b), rounding);
}

/// Returns a · b exactly: 53 bits times 53 bits fit in the 128-bit significand. 0 · Inf is invalid.
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

/// Returns a · b + c, to be rounded once. 0 · Inf + NaN raises invalid, as in Berkeley SoftFloat
/// (7.2 c leaves the choice to the implementation).
constexpr Exact multiply_add(const Exact& a, const Exact& b, const Exact& c, Rounding rounding) {
  return add(multiply(a, b), c, rounding);
}

/// Returns a / b: at least 117 quotient bits, and `sticky` for what lies below them. Non-zero / 0
/// is an infinity and raises divide_by_zero; 0 / 0 and Inf / Inf are invalid.
///
///     1 / 3     1010…101           0101…0101                       sticky
///               53 bits            64 bits
///               2^105 / (3·2^51)   its remainder · 2^64 / (3·2^51)
///
/// 2^52 and 3·2^51 are the operands' significands with the top bit at 52.
constexpr Exact divide(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  const bool negative = a.negative != b.negative;
  if (a.kind == b.kind && a.kind != Kind::finite) return invalid_result();  // 0/0, Inf/Inf
  if (a.kind == Kind::infinite || b.kind == Kind::zero) {
    const Flags by_zero = a.kind == Kind::infinite ? Flags{0} : Flag::divide_by_zero;
    return {.kind = Kind::infinite, .negative = negative, .flags = by_zero};
  }
  if (a.kind == Kind::zero || b.kind == Kind::infinite) return zero_of(negative);
  // x and y have 53 bits, so x·2^53/y has 53 or 54 bits; its remainder gives 64 more.
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

/// Returns the square root: 96 bits of the root, and `sticky` for what lies below them. The square
/// root of -0 is -0; that of any other negative number is invalid. Each step of the digit
/// recurrence takes two bits of the radicand and gives one bit of the root; sqrt(2) = 1.0110…:
///
///     radicand  10 00 00 00 00 …     128 bits of the significand, then 64 zeros
///     root       1  0  1  1  0 …     96 bits
///
/// The exponent is made even and halved; 32 is subtracted from it, a bit for two of the zeros.
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

/// Returns a - b·n, where n is the integer nearest to a/b, ties to even (5.3.1). The result is
/// always exact; a zero has the sign of a. An infinite a and a zero b are invalid.
constexpr Exact remainder(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_operand(a, b);
  if (a.kind == Kind::infinite || b.kind == Kind::zero) return invalid_result();
  if (a.kind == Kind::zero || b.kind == Kind::infinite) return a;
  uint128 divisor = b.significand;  // divisor and rest count in units of 2^exponent
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
