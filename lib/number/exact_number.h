// SPDX-License-Identifier: Apache-2.0
//
// Signed numbers of any size whose arithmetic is exact, such as sums of products of encodings and
// what an instruction cuts off them. Each is an integer times a power of two.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/number/decimal.h"

namespace binade {

/// The number ±integer · 2^exponent. Every number has exactly one representation: the integer is
/// odd, and 0 is {}.
struct ExactNumber {
  bool negative = false;
  Natural integer = {};
  int exponent = 0;

  friend bool operator==(const ExactNumber&, const ExactNumber&) = default;

  bool is_zero() const { return integer.empty(); }
  Decimal magnitude() const { return {integer, exponent, 0}; }
  /// Returns floor(log2 |x|); the number must not be 0.
  int leading_exponent() const;
  /// Returns whether the bit of |x| that has the weight 2^weight is set.
  bool bit(int weight) const;
};

/// Return integer · 2^exponent and ±significand · 2^exponent.
ExactNumber exact_number(std::int64_t integer, int exponent = 0);
ExactNumber exact_number(bool negative, std::uint64_t significand, int exponent);
/// Returns the number that an encoding stands for, which must be finite or zero. The format may be
/// an integer format.
ExactNumber exact_number(std::uint64_t bits, const Format& f);

ExactNumber operator-(ExactNumber x);
ExactNumber operator+(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator-(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator*(const ExactNumber& a, const ExactNumber& b);
ExactNumber& operator+=(ExactNumber& a, const ExactNumber& b);
std::strong_ordering operator<=>(const ExactNumber& a, const ExactNumber& b);
ExactNumber magnitude_of(ExactNumber x);
/// Returns x · 2^k.
ExactNumber scaled(ExactNumber x, int k);

/// Returns the nearest double, ties to even: an infinity from 2^1024 - 2^970 on, and 0 (with the
/// sign) up to 2^-1075.
double to_double(const ExactNumber& x);

/// Returns all decimal digits, with the sign, in the form of exact_text() in number_text.h.
std::string exact_text(const ExactNumber& x);
/// Returns the exact number if it takes at most `longest` columns, as decimal digits without an
/// exponent or as 5*2^-24 (with a factor below 2^16); else the number rounded to `digits`
/// significant digits, "≈-5.960e-08", with an exponent if it would be longer without.
std::string brief_text(const ExactNumber& x, std::size_t longest, std::size_t digits = 4);

}  // namespace binade
