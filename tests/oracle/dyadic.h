// SPDX-License-Identifier: Apache-2.0
//
// Exact non-negative numbers n 2^e with n of any length, and the two points of a format's grid around
// one of them. For the oracle's sources only: it draws in Boost.Multiprecision.
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

/// n 2^by, which must be an integer.
Integer times_power(const Integer& n, int by);
/// floor(x / 2^e), and whether the division was exact.
Integer floor_at(const Dyadic& x, int e, bool& exact);
/// -1, 0, 1 as a < b, a = b, a > b.
int compare(const Dyadic& a, const Dyadic& b);
Dyadic add(const Dyadic& a, const Dyadic& b);
/// a - b, where a >= b.
Dyadic subtract(const Dyadic& a, const Dyadic& b);
/// floor(log2 x), x > 0.
int exponent_of(const Dyadic& x);
Dyadic magnitude(const Value& value);

/// Wide enough for one code more than 64 bits count.
__extension__ typedef __int128 Code;

/// A magnitude of the grid. Codes count upwards with the magnitude, one by one; the code after the
/// largest finite number's belongs to the number that would follow it were the exponent unbounded.
struct Point {
  Dyadic value;
  Code code = 0;
};

/// The grid points around a number: below <= x < above.
struct Around {
  Point below, above;
  bool exact = false;  ///< x = below
};

/// The grid of a format's magnitudes, from zero (or the smallest number, where there is no zero) to
/// the first number beyond the largest.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  /// x must not be below the first point; x at or above the last: both neighbours are the last.
  virtual Around around(const Dyadic& x) const = 0;
  virtual const Point& first() const = 0;
  virtual const Point& last() const = 0;
};

std::unique_ptr<const Neighbours> listed(const Spec& spec);
std::unique_ptr<const Neighbours> divided(const Spec& spec);

/// The grid of `precision` bits at x's binade, exponent unbounded; codes follow the format's own, so
/// that parity means the same.
Around around_unbounded(const Dyadic& x, const Spec& spec);

}  // namespace oracle
