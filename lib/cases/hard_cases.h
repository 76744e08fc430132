// SPDX-License-Identifier: Apache-2.0
//
// Operands worth asking: those that hurt (ties, sticky bits far below, cancellation, alignment edges,
// the ends of the range, NaNs), then seeded random ones. Functions of few operand bits are asked
// everything.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/testfloat/test_function.h"

namespace binade {

/// At most this many operand bits, and every combination is a case.
inline constexpr int exhaustive_bits = 18;

/// Whether every combination of operands is asked.
bool is_exhaustive(const TestFunction& function);

/// Edges crossed with each other, then cases aimed at the function; or all there are. The same for
/// the same seed.
std::vector<Operands> hard_cases(const TestFunction& function, std::uint64_t seed);

/// Random case `index`: a pure function of (seed, index). A third uniform encodings, the others with
/// near exponents, few significant bits, or at an edge.
Operands random_case(const TestFunction& function, std::uint64_t seed, std::uint64_t index);

}  // namespace binade
