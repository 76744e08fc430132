// SPDX-License-Identifier: Apache-2.0
//
// What an explanation is held against: fractions of Boost.Multiprecision, encodings decoded by the
// oracle, and cutting by its definition.
#pragma once

#include <algorithm>
#include <cstdint>

#include "emulate/integer_dot.h"
#include "lib/explain/explanation.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/lib/number/rational.h"

namespace binade::test {

inline bool is_finite(std::uint64_t bits, const Format& f) {
  return is_integer(f) || oracle::value_of(bits, spec_of(f)).kind == oracle::Kind::number;
}

inline Rational rational(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) {
    const int width = f.bits();
    Integer n = bits & ((std::uint64_t{1} << width) - 1);
    if (f.has_sign && (bits >> (width - 1) & 1) != 0) n -= Integer(1) << width;
    return Rational(n);
  }
  const oracle::Value x = oracle::value_of(bits, spec_of(f));
  Integer n = (Integer(x.high) << 64) + x.low;
  if (x.negative) n = -n;
  return Rational(n) * power_of_two(x.exponent);
}
inline Rational rational(const Typed& x) { return rational(x.bits, x.format); }

/// floor(log2 |x|), x not 0.
inline int leading(const Rational& x) {
  const Rational magnitude = abs(x);
  int e =
      static_cast<int>(msb(numerator(magnitude))) - static_cast<int>(msb(denominator(magnitude)));
  while (power_of_two(e) > magnitude) --e;
  while (power_of_two(e + 1) <= magnitude) ++e;
  return e;
}

/// The exponent that an operand is aligned by: subnormal numbers keep the smallest.
inline int aligned_by(const Rational& x, const Format& f) {
  return std::max(leading(x), (f.has_zero ? 1 : 0) - f.bias);
}

/// |x| in whole units of 2^e, the rest cut off, with x's sign.
inline Integer cut_to(const Rational& x, int e) {
  const Rational units = abs(x) / power_of_two(e);
  const Integer whole = numerator(units) / denominator(units);
  return x < 0 ? Integer(-whole) : whole;
}

}  // namespace binade::test
