// SPDX-License-Identifier: Apache-2.0
//
// Operands on which an implementation of a function is likely to be wrong (ties, sticky bits far
// below, cancellation, alignment edges, the ends of the range, NaNs), and seeded random operands.
// Functions of few operand bits are tested with all operands.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/testfloat/test_function.h"

namespace binade {

/// A function with at most this many operand bits gets every combination of operands.
inline constexpr int exhaustive_bits = 18;

/// Returns whether hard_cases() holds every combination of operands.
bool is_exhaustive(const TestFunction& function);

/// Returns all operands where is_exhaustive(); else the edges of the operands' types, each combined
/// with each, and after them what the function's aims (aims.h) make. The same seed gives the same
/// cases.
std::vector<TestOperands> hard_cases(const TestFunction& function, std::uint64_t seed);

/// Returns random case `index`, a pure function of (seed, index). A third of the cases have
/// uniformly distributed encodings; operands of the others have exponents near each other, few
/// significant bits, or lie at an edge. Integers have a random number of significant bits.
TestOperands random_case(const TestFunction& function, std::uint64_t seed, std::uint64_t index);

}  // namespace binade
