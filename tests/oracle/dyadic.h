// SPDX-License-Identifier: Apache-2.0
//
// Exact non-negative numbers n 2^e with n of any length, and the two points of a format's grid
// around one of them. Only the oracle's sources include this header, since it includes
// Boost.Multiprecision.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>

#include "tests/oracle/oracle.h"

namespace oracle {

using Integer = boost::multiprecision::cpp_int;

struct Dyadic {
  Integer n;
  int e = 0;
};

/// Returns n 2^by, which must be an integer.
Integer times_power(const Integer& n, int by);
/// Returns floor(x / 2^e), and sets `exact` to whether nothing was lost.
Integer floor_at(const Dyadic& x, int e, bool& exact);
/// Returns -1, 0 or 1 for a < b, a = b or a > b.
int compare(const Dyadic& a, const Dyadic& b);
Dyadic add(const Dyadic& a, const Dyadic& b);
/// Returns a - b, where a >= b.
Dyadic subtract(const Dyadic& a, const Dyadic& b);
/// Returns floor(log2 x), where x > 0.
int exponent_of(const Dyadic& x);
Dyadic magnitude(const Value& value);

/// An integer that can hold 2^64, one more than the largest code of 64 bits.
__extension__ typedef __int128 Code;

/// A magnitude of the grid and its code. Codes count upwards with the magnitude, one by one. The
/// code after that of the largest finite number belongs to the number that would follow it if the
/// exponent were unbounded.
struct Point {
  Dyadic value;
  Code code = 0;
};

/// The grid points around a number: below <= x < above.
struct Around {
  Point below, above;
  bool exact = false;  ///< whether x = below
};

/// The grid of a format's magnitudes, from zero (or the smallest number, where there is no zero) to
/// the first number beyond the largest.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  /// Returns the neighbours of x, which must not be below the first point. If x is at or above the
  /// last point, both neighbours are the last point.
  virtual Around around(const Dyadic& x) const = 0;
  virtual const Point& first() const = 0;
  virtual const Point& last() const = 0;
};

/// Return a format's grid that searches a list of all its points, or that finds them by division.
std::unique_ptr<const Neighbours> listed(const Spec& spec);
std::unique_ptr<const Neighbours> divided(const Spec& spec);

/// Returns the neighbours of x on the grid of the format's precision with an unbounded exponent.
/// Codes continue those of normal numbers downwards (subnormal numbers have these codes, too). If
/// precision > 1, an even code means an even significand.
Around around_unbounded(const Dyadic& x, const Spec& spec);

}  // namespace oracle
