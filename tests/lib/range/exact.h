// SPDX-License-Identifier: Apache-2.0
//
// The judge of the range summary: numbers n·2^e of Boost.Multiprecision, and rounding to a format
// by its definition. Formats are written down as their documents print them. No code of emulate or
// lib/range takes part, except that the summary's results are read to be compared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "lib/number/exact_sum.h"

namespace binade::test {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

/// A report format: emin and emax are the exponents of the smallest normal and the largest finite
/// number, max = max_significand·2^(emax - precision + 1).
struct Grid {
  const char* name;
  int precision, emin, emax;
  std::uint64_t max_significand;
};
inline constexpr std::array<Grid, 5> grids{{{"binary16", 11, -14, 15, 2047},
                                            {"bfloat16", 8, -126, 127, 255},
                                            {"tf32", 11, -126, 127, 2047},
                                            {"e5m2", 3, -14, 15, 7},
                                            {"e4m3", 4, -6, 8, 14}}};

/// Returns the name for messages, since doctest prints a char pointer as a number.
inline std::string name_of(const Grid& g) { return g.name; }

/// A magnitude n·2^e, n > 0.
struct Number {
  std::uint64_t n = 0;
  int e = 0;

  int binade() const { return e + static_cast<int>(std::bit_width(n)) - 1; }
};

inline Number number_of(double x) {
  int e = 0;
  const double m = std::frexp(std::abs(x), &e);
  return {static_cast<std::uint64_t>(std::ldexp(m, 53)), e - 53};
}

enum class Outcome { to_zero, subnormal, normal, overflow };

/// The result r·2^quantum of rounding to nearest, ties to even, with no upper end of the exponent.
struct Rounded {
  std::uint64_t r = 0;
  int quantum = 0;
  Outcome outcome = Outcome::normal;
};

/// Returns x·2^k rounded to the grid.
inline Rounded round_to(const Number& x, int k, const Grid& g) {
  Rounded out;
  out.quantum = std::max(x.binade() + k, g.emin) - g.precision + 1;
  const int dropped = out.quantum - (x.e + k);
  if (dropped <= 0) {
    out.r = x.n << -dropped;
  } else if (dropped < 64) {
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t rest = x.n & (2 * half - 1);
    out.r = x.n >> (dropped - 1) >> 1;
    if (rest > half || (rest == half && (out.r & 1) != 0)) ++out.r;
  }  // else x < 2^(quantum - 10), n having at most 53 bits
  const auto compare = [&out](std::uint64_t n, int e) {  // r·2^quantum <=> n·2^e
    const Integer a = Integer(out.r) << static_cast<unsigned>(std::max(out.quantum - e, 0));
    const Integer b = Integer(n) << static_cast<unsigned>(std::max(e - out.quantum, 0));
    return a.compare(b);
  };
  if (out.r == 0) {
    out.outcome = Outcome::to_zero;
  } else if (out.quantum == g.emin - g.precision + 1 && compare(1, g.emin) < 0) {
    out.outcome = Outcome::subnormal;
  } else if (x.binade() + k >= g.emax && compare(g.max_significand, g.emax - g.precision + 1) > 0) {
    out.outcome = Outcome::overflow;
  }
  return out;
}

/// Returns n·2^e in units of 2^unit, of which it must be a multiple.
inline Integer in_units(const Integer& n, int e, int unit) {
  return n << static_cast<unsigned>(e - unit);
}

inline Integer power_of_two_of(unsigned k) { return Integer(1) << k; }

template <class Limbs>
Integer integer_of_limbs(const Limbs& limbs) {
  Integer out = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) out = (out << 64) + limbs[i];
  return out;
}

inline Integer integer_of(uint128 value) {
  return (Integer(static_cast<std::uint64_t>(value >> 64)) << 64) +
         static_cast<std::uint64_t>(value);
}

/// Returns an ExactSum as an integer in units of 2^-2304.
inline Integer integer_of(const ExactSum& sum) { return integer_of_limbs(sum.limbs); }

/// a/b rounded to 53 bits, ties to even, as m·2^e with an integer m of 53 bits. It is found by the
/// definition: the largest multiple that is not above, and the comparison of the rest with one
/// half.
struct Quotient {
  std::uint64_t m = 0;
  int e = 0;
};
inline Quotient quotient(const Integer& a, const Integer& b) {
  if (a == 0) return {};
  Quotient out;
  out.e = static_cast<int>(msb(a)) - static_cast<int>(msb(b)) - 53;
  for (;; ++out.e) {
    const Integer top = a << static_cast<unsigned>(std::max(-out.e, 0));
    const Integer bottom = b << static_cast<unsigned>(std::max(out.e, 0));
    const Integer m = top / bottom;
    if (m >= power_of_two_of(53)) continue;
    const Integer twice_rest = 2 * (top - m * bottom);
    out.m = static_cast<std::uint64_t>(m);
    if (twice_rest > bottom || (twice_rest == bottom && (out.m & 1) != 0)) ++out.m;
    if (out.m >> 53 != 0) out = {out.m / 2, out.e + 1};
    return out;
  }
}

/// Returns whether a number is the nearest of 53 bits to sqrt(a/b), ties to even, by comparing
/// squares.
inline bool is_root(const ScaledDouble& have, const Integer& a, const Integer& b) {
  if (a == 0) return have.significand == 0;
  const auto m = static_cast<std::uint64_t>(std::ldexp(have.significand, 53));
  const int e = have.exponent - 54;  // of the midpoints, (2m ± 1)·2^e
  const Integer left = a << static_cast<unsigned>(std::max(0, -2 * e));
  const auto squares = [&](const Integer& midpoint) {
    const Integer right = (midpoint * midpoint * b) << static_cast<unsigned>(std::max(0, 2 * e));
    return left.compare(right);
  };
  const int above = squares(2 * Integer(m) + 1);
  const int below = squares(2 * Integer(m) - 1);
  const bool even = m % 2 == 0;
  return m >> 52 == 1 && (above < 0 || (above == 0 && even)) && (below > 0 || (below == 0 && even));
}

inline double double_of(const Quotient& q) { return std::ldexp(static_cast<double>(q.m), q.e); }

}  // namespace binade::test
