// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of values, of their squares and of squared rounding errors. A sum is one wide
// fixed-point number, so that shares of a norm depend neither on the order of summation nor on any
// tolerance.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "emulate/codec.h"

namespace binade {

/// A non-negative multiple of 2^-2304 below 2^2304. That holds the sum of 2^64 squares of any
/// binary64 numbers (2^-2148 to 2^2112), also if the numbers are scaled.
struct ExactSum {
  static constexpr std::size_t size = 72;
  static constexpr int unit_exponent = -2304;
  std::array<std::uint64_t, size> limbs{};  ///< lowest first

  friend constexpr bool operator==(const ExactSum&, const ExactSum&) = default;

  bool is_zero() const;
  /// Adds value·2^exponent, which must be a multiple of 2^-2304. Here and below, a sum of 2^2304 or
  /// more is not allowed, and at most an assertion notices it.
  void add(uint128 value, int exponent);
  /// Adds value·2^exponent, where the limbs of value are given lowest first and the exponent is at
  /// least -2304, as in add_product().
  void add(const std::array<std::uint64_t, 3>& value, int exponent);
  /// Adds a·b·2^exponent.
  void add_product(uint128 a, std::uint64_t b, int exponent);
  ExactSum& operator+=(const ExactSum& other);
  /// Subtracts a sum that must not be larger.
  ExactSum& operator-=(const ExactSum& other);
};

std::strong_ordering compare(const ExactSum& a, const ExactSum& b);

/// Returns a / 2^n rounded down to a multiple of 2^-2304, for n of either sign; bits of 2^2304 and
/// above are dropped.
ExactSum shifted_right(const ExactSum& a, int n);

/// The number significand·2^exponent, where the significand is in [0.5, 1), as frexp gives it, or 0
/// for zero. The exponent may exceed the range of double.
struct ScaledDouble {
  double significand = 0;
  int exponent = 0;

  /// Returns the number as a double: infinity, a rounded subnormal number or 0 if the exponent
  /// exceeds double's range.
  double value() const;
  /// Returns the logarithm to base 2; minus infinity for zero.
  double log2() const;
};

/// Returns a/b rounded to 53 bits, ties to even; b must not be zero and must be below 2^2303.
ScaledDouble divide(const ExactSum& a, const ExactSum& b);

/// Returns sqrt(a/b) rounded to 53 bits, ties to even; b must not be zero and must be below 2^2303.
ScaledDouble divide_root(const ExactSum& a, const ExactSum& b);
/// Compares sqrt(a/b) with x, exactly; b must not be zero, and x must be finite and not negative.
std::strong_ordering compare_root(const ExactSum& a, const ExactSum& b, double x);

/// Return part/whole and its square root, where the whole must not be zero and be below 2^2303, and
/// the part is at most the whole: the nearest double that is 0 only if the part is, and 1 only if
/// it is the whole. (Below 2^-1022 the 53 bits are rounded once more.)
double share_of(const ExactSum& part, const ExactSum& whole);
double root_share_of(const ExactSum& part, const ExactSum& whole);

/// Returns a rounded to 53 bits, ties to even.
ScaledDouble to_scaled(const ExactSum& a);

/// Returns an integer, given in limbs of 64 bits, lowest first, as decimal digits.
std::string to_decimal(std::span<const std::uint64_t> limbs);
std::string to_decimal(uint128 value);

}  // namespace binade
