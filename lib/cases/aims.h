// SPDX-License-Identifier: Apache-2.0
//
// Operands made backwards from a result that hurts: ties, sticky bits far below, cancellation,
// results at the ends of the range, halves of divisors, midpoints. One table: an aim at a kind of
// function.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lib/testfloat/test_function.h"

namespace binade {

/// Random numbers, a pure function of (seed, stream): words 0, 1, … of a Philox stream.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// n random bits, 1 to 64.
  std::uint64_t bits(int n);
  /// An integer of [low, high]; low if that is empty.
  int between(int low, int high);
  bool flip() { return bits(1) != 0; }

 private:
  std::uint64_t seed_, stream_, index_ = 0;
};

/// What an aim sees of a function: the formats of its numbers, and its integer type.
struct Target {
  OperandFormats from{};
  Format to{};
  IntegerType integer{};
};

struct AimedAt {
  Act act;
  Operation operation;  ///< of Act::arithmetic
  Operands (*aim)(Draw&, const Target&);
};

std::span<const AimedAt> aims();

/// The encoding of the number that is nearest toward zero, in the range.
std::uint64_t encoded(const Exact& x, const Format& f);
/// The same encoding with the other sign, where the format has one.
std::uint64_t opposite(std::uint64_t bits, const Format& f);

/// 2^e.
Exact power(int e);
/// ±1xx…x1 · 2^…, of `count` significant bits, 2^e its highest.
Exact odd_number(Draw& draw, int count, int e);
/// A number of the format's precision with all its bits random, 2^e its highest.
Exact some_number(Draw& draw, const Format& f, int e);
int some_exponent(Draw& draw, const Format& f);

}  // namespace binade
