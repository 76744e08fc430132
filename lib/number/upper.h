// SPDX-License-Identifier: Apache-2.0
//
// Upper bounds of non-negative numbers. Every operation rounds up, so a result is never below the
// exact one, and results may exceed the range of binary64.
#pragma once

#include <compare>
#include <cstdint>

#include "lib/number/exact_sum.h"

namespace binade {

/// The number significand · 2^exponent, where the highest of the 64 bits of the significand is set;
/// 0 has the significand 0.
class Upper {
 public:
  constexpr Upper() = default;
  /// Makes a bound of value · 2^exponent: that number, or the next one above it that 64 bits hold.
  Upper(uint128 value, int exponent);
  explicit Upper(const ExactSum& value);
  static Upper power(int exponent) { return {1, exponent}; }

  bool is_zero() const { return significand_ == 0; }
  /// Returns floor(log2) of the bound, which must not be zero.
  int log2() const { return exponent_ + 63; }
  /// Returns the smallest double that is not below the bound; infinity if no finite one is.
  double value() const;
  /// Returns whether x <= this bound, which must be below 2^2304.
  bool holds(const ExactSum& x) const;
  /// Returns the bound as an exact sum, rounded up to a multiple of 2^-2304; the bound must be
  /// below 2^2304.
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
