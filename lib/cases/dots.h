// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products, as a Tensor Core gets and gives them: row i of a and b and element i of c
// make element i of d.
#pragma once

#include <cstdint>
#include <vector>

namespace binade {

/// Encodings. a and b have d.size() rows of the instruction's k, padded with +0; c and d an element
/// each.
struct Dots {
  std::vector<std::uint64_t> a, b, c, d;
};

}  // namespace binade
