// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers to be shown: everything a user types and everything a format holds has a
// finite decimal expansion, so sums, differences and comparisons lose nothing, and all digits can
// be printed. The way into the arithmetic is `to_exact`, codec.h's 128-bit window with its sticky
// bit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/codec.h"

namespace binade {

/// A natural number in base 2^32, lowest word first, no zero word on top; 0 has no words.
using Natural = std::vector<std::uint32_t>;

int width_of(const Natural& n);  ///< bits

/// A non-negative number: integer · 2^twos · 5^fives.
struct Decimal {
  Natural integer;
  int twos = 0;
  int fives = 0;

  bool is_zero() const { return integer.empty(); }
};

/// A number on some format's grid or half way between two of them: significand · 2^exponent.
struct Dyadic {
  std::uint64_t significand = 0;
  int exponent = 0;
};

/// The number that a string of decimal digits spells, times 10^exponent.
Decimal decimal_of(std::string_view digits, int exponent);
Decimal decimal_of(const Dyadic& x);

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
inline bool operator==(const Decimal& a, const Decimal& b) { return (a <=> b) == 0; }
Decimal operator*(const Decimal& a, const Decimal& b);
/// |a - b|
Decimal distance(const Decimal& a, const Decimal& b);
/// x · 2^k
Decimal scaled(Decimal x, int k);

/// All significant digits, d.ddd · 10^exponent, no zero at either end; 0 is "0".
struct Digits {
  std::string digits;
  int exponent = 0;
};
Digits digits_of(const Decimal& x);

/// x as an operand of `project`: 128 leading bits and whether anything lies below them.
Exact to_exact(const Decimal& x, bool negative);

}  // namespace binade
