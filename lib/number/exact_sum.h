// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of values, of their squares and of squared rounding errors: one wide fixed-point
// number, so that shares of a norm do not depend on the order of summation or on any tolerance.
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
/// binary64 numbers (2^-2148 to 2^2112), their scaled bounds included.
struct ExactSum {
  static constexpr std::size_t size = 72;
  static constexpr int unit_exponent = -2304;
  std::array<std::uint64_t, size> limbs{};  ///< lowest first

  friend constexpr bool operator==(const ExactSum&, const ExactSum&) = default;

  bool is_zero() const;
  void add(uint128 value, int exponent);                              ///< += value·2^exponent
  void add(const std::array<std::uint64_t, 3>& value, int exponent);  ///< limbs, lowest first
  void add_product(uint128 a, std::uint64_t b, int exponent);
  ExactSum& operator+=(const ExactSum& other);
  ExactSum& operator-=(const ExactSum& other);  ///< other must not be larger
};

std::strong_ordering compare(const ExactSum& a, const ExactSum& b);

/// a / 2^n rounded down, for n of either sign; bits of 2^2304 and above are dropped.
ExactSum shifted_right(const ExactSum& a, int n);

/// value = significand·2^exponent with significand in [0.5, 1), as frexp gives it; 0 for zero.
struct ScaledDouble {
  double significand = 0;
  int exponent = 0;

  double value() const;
  double log2() const;
};

/// a/b correctly rounded to 53 bits; b must not be zero, and below 2^2303.
ScaledDouble divide(const ExactSum& a, const ExactSum& b);

/// a rounded to 53 bits, ties to even.
ScaledDouble to_scaled(const ExactSum& a);

/// An integer of 64-bit limbs, lowest first, in decimal.
std::string to_decimal(std::span<const std::uint64_t> limbs);
std::string to_decimal(uint128 value);

}  // namespace binade
