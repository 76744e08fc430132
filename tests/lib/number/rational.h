// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers as fractions of Boost.Multiprecision.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstddef>

#include "lib/number/exact_number.h"

namespace binade::test {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

inline Rational power_of_two(int e) {
  const Integer power = Integer(1) << (e < 0 ? -e : e);
  return e < 0 ? Rational(1, power) : Rational(power);
}

inline Rational rational(const ExactNumber& x) {
  Integer n = 0;
  for (std::size_t i = x.integer.size(); i-- > 0;) n = (n << 32) + x.integer[i];
  const Rational magnitude = Rational(n) * power_of_two(x.exponent);
  return x.negative ? Rational(-magnitude) : magnitude;
}

}  // namespace binade::test
