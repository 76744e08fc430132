// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on exact dyadic numbers.
#include "tests/oracle/dyadic.h"

#include <algorithm>

namespace oracle {

Integer times_power(const Integer& n, int by) {
  return by >= 0 ? Integer(n << static_cast<unsigned>(by))
                 : Integer(n >> static_cast<unsigned>(-by));
}

Integer floor_at(const Dyadic& x, int e, bool& exact) {
  Integer quotient = times_power(x.n, x.e - e);
  exact = x.e >= e || times_power(quotient, e - x.e) == x.n;
  return quotient;
}

int compare(const Dyadic& a, const Dyadic& b) {
  const int e = std::min(a.e, b.e);
  const int sign = times_power(a.n, a.e - e).compare(times_power(b.n, b.e - e));
  return (sign > 0) - (sign < 0);
}

Dyadic add(const Dyadic& a, const Dyadic& b) {
  const int e = std::min(a.e, b.e);
  return {Integer(times_power(a.n, a.e - e) + times_power(b.n, b.e - e)), e};
}

Dyadic subtract(const Dyadic& a, const Dyadic& b) {
  const int e = std::min(a.e, b.e);
  return {Integer(times_power(a.n, a.e - e) - times_power(b.n, b.e - e)), e};
}

int exponent_of(const Dyadic& x) { return static_cast<int>(msb(x.n)) + x.e; }

Dyadic magnitude(const Value& value) {
  Integer n = value.high;
  n = (n << 64) + value.low;
  if (value.rest == 0) return {n, value.exponent};
  return {Integer((n << 64) + value.rest), value.exponent - 64};
}

}  // namespace oracle
