// SPDX-License-Identifier: Apache-2.0
//
// Upper bounds of non-negative numbers: every operation rounds up, so that what comes out is never below
// the truth; and the exponents of binary64 do not end it.
#pragma once

#include <compare>
#include <cstdint>

#include "lib/number/exact_sum.h"

namespace binade {

/// significand · 2^exponent, the highest of 64 bits set; 0 for zero.
class Upper {
 public:
  constexpr Upper() = default;
  /// At least value · 2^exponent.
  Upper(uint128 value, int exponent);
  explicit Upper(const ExactSum& value);
  static Upper power(int exponent) { return {1, exponent}; }

  bool is_zero() const { return significand_ == 0; }
  /// floor(log2); not of zero.
  int log2() const { return exponent_ + 63; }
  /// The next double above or equal; infinity where binary64 ends.
  double value() const;
  /// Whether x <= this.
  bool holds(const ExactSum& x) const;
  /// The sum itself, for sums between 2^-2304 and 2^2304.
  ExactSum exact() const;

  friend Upper operator+(const Upper& a, const Upper& b);
  friend Upper operator*(const Upper& a, const Upper& b);
  friend std::strong_ordering operator<=>(const Upper& a, const Upper& b);
  friend bool operator==(const Upper&, const Upper&) = default;
  Upper& operator+=(const Upper& b) { return *this = *this + b; }

 private:
  std::uint64_t significand_ = 0;
  int exponent_ = 0;
};

}  // namespace binade
