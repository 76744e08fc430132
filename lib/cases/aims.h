// SPDX-License-Identifier: Apache-2.0
//
// An aim is a generator of operands whose exact result is hard to get right: a tie, a sticky bit
// far below the last place, cancellation, a result at an end of the range, a remainder of about
// half the divisor, operands that are neighbours. An aim chooses such a result and works back to
// the operands, or chooses operands that lie so to each other. A table says which aims belong to
// which kind of function.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lib/testfloat/test_function.h"

namespace binade {

/// A source of random numbers: words 0, 1, … of the Philox stream that (seed, stream) names. The
/// same pair gives the same numbers.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Returns n random bits, n from 1 to 64, in the lowest bits.
  std::uint64_t bits(int n);
  /// Returns an integer of [low, high], or `low` if that interval is empty.
  int between(int low, int high);
  bool flip() { return bits(1) != 0; }

 private:
  std::uint64_t seed_, stream_, index_ = 0;
};

/// The types of the function that an aim makes operands for: the formats of its operands and its
/// result, and its integer type where it has one.
struct Target {
  OperandFormats from{};
  Format to{};
  IntegerType integer{};
};

/// A row of the table: an aim and the functions that it serves.
struct AimedAt {
  Act act;
  Operation operation;  ///< read only where act is Act::arithmetic
  Operands (*aim)(Draw&, const Target&);
};

std::span<const AimedAt> aims();

/// Returns the encoding of x rounded toward zero; beyond the range, that of the largest finite
/// number.
std::uint64_t encoded(const Exact& x, const Format& f);
/// Returns `bits` with the opposite sign, or unchanged where the format has no sign.
std::uint64_t opposite(std::uint64_t bits, const Format& f);

/// Returns 2^e.
Exact power(int e);
/// Returns a number of either sign with exactly `count` significant bits: its first bit, of weight
/// 2^e, and its last one are set, and those between are random.
Exact odd_number(Draw& draw, int count, int e);
/// Returns a number of either sign with the format's precision: its first bit has weight 2^e, and
/// the others are random.
Exact some_number(Draw& draw, const Format& f, int e);
/// Returns a random exponent of the format.
int some_exponent(Draw& draw, const Format& f);

}  // namespace binade
