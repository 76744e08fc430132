// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products, as a Tensor Core takes and returns them: row i of a and of b and element i
// of c make element i of d.
#pragma once

#include <cstdint>
#include <vector>

namespace binade {

/// Encodings, each in the lowest bits of its word. a and b hold c.size() rows, one after the other,
/// of as many elements as the instruction's k, padded with +0; c and d hold one element for each
/// row; d may be empty before a device or the emulator has filled it.
struct Dots {
  std::vector<std::uint64_t> a, b, c, d;
};

}  // namespace binade
