// SPDX-License-Identifier: Apache-2.0
//
// Signed numbers that lose nothing: what sums of products of encodings are, and what is cut off them.
// Each is an integer times a power of two, of any size.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/number/decimal.h"

namespace binade {

/// ±integer · 2^exponent. One number has one spelling: the integer is odd; 0 is {}.
struct ExactNumber {
  bool negative = false;
  Natural integer = {};
  int exponent = 0;

  friend bool operator==(const ExactNumber&, const ExactNumber&) = default;

  bool is_zero() const { return integer.empty(); }
  Decimal magnitude() const { return {integer, exponent, 0}; }
  /// floor(log2 |x|); of a number other than 0.
  int leading_exponent() const;
  /// The bit of |x| that weighs 2^weight.
  bool bit(int weight) const;
};

ExactNumber exact_number(std::int64_t integer, int exponent = 0);
ExactNumber exact_number(bool negative, std::uint64_t significand, int exponent);
/// An encoding's number, which is finite or zero; of integer types too.
ExactNumber exact_number(std::uint64_t bits, const Format& f);

ExactNumber operator-(ExactNumber x);
ExactNumber operator+(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator-(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator*(const ExactNumber& a, const ExactNumber& b);
ExactNumber& operator+=(ExactNumber& a, const ExactNumber& b);
std::strong_ordering operator<=>(const ExactNumber& a, const ExactNumber& b);
ExactNumber magnitude_of(ExactNumber x);
/// x · 2^k
ExactNumber scaled(ExactNumber x, int k);

/// The nearest double, ties to even.
double to_double(const ExactNumber& x);

/// All decimal digits, with the sign.
std::string exact_text(const ExactNumber& x);
/// Exact in at most `longest` columns, as decimal digits or as 5*2^-24, else rounded to so many
/// significant digits: "≈-5.960e-08".
std::string brief_text(const ExactNumber& x, std::size_t longest, std::size_t digits = 4);

}  // namespace binade
