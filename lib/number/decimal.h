// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers that are to be printed. Every finite number that a user types or that a format
// holds has a finite decimal expansion, so sums, differences and comparisons lose nothing, and all
// digits can be printed. `to_exact` converts such a number for the arithmetic of emulate/codec.h: a
// window of 128 bits with a sticky bit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/codec.h"

namespace binade {

/// A natural number in base 2^32, lowest word first, whose highest word is not zero; 0 has no
/// words.
using Natural = std::vector<std::uint32_t>;

/// Returns the number of bits of n; 0 for n = 0.
int width_of(const Natural& n);

/// A non-negative number: integer · 2^twos · 5^fives.
struct Decimal {
  Natural integer;
  int twos = 0;
  int fives = 0;

  bool is_zero() const { return integer.empty(); }
};

/// A number that lies on the grid of some format or halfway between two neighbours there:
/// significand · 2^exponent.
struct Dyadic {
  std::uint64_t significand = 0;
  int exponent = 0;
};

/// Returns the number that a string of the digits 0 to 9 spells, times 10^exponent; an empty string
/// spells 0.
Decimal decimal_of(std::string_view digits, int exponent);
Decimal decimal_of(const Dyadic& x);

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
inline bool operator==(const Decimal& a, const Decimal& b) { return (a <=> b) == 0; }
Decimal operator*(const Decimal& a, const Decimal& b);
/// Returns |a - b|.
Decimal distance(const Decimal& a, const Decimal& b);
/// Returns x · 2^k.
Decimal scaled(Decimal x, int k);

/// All significant digits of a number, d.ddd · 10^exponent, without zeros at either end; 0 is "0".
struct Digits {
  std::string digits;
  int exponent = 0;
};
Digits digits_of(const Decimal& x);

/// Returns x as an operand of `project`: its leading bits (at most 128; 127 or 128 if `fives` is
/// negative, where x may have infinitely many), and whether any bit below them is set. Zero keeps
/// the sign `negative`.
Exact to_exact(const Decimal& x, bool negative);

}  // namespace binade
