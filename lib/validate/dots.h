// SPDX-License-Identifier: Apache-2.0
//
// Compares recorded dot products with the emulator: row i of a and b and element i of c give
// element i of d.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"

namespace binade {

struct DotDifference {
  std::uint64_t row = 0;
  std::uint64_t recorded = 0;
  std::uint64_t emulated = 0;
};

struct DotCheck {
  std::uint64_t rows = 0;
  std::uint64_t different = 0;
  std::vector<DotDifference> first = {};  ///< the first differences, in the order of the rows

  std::uint64_t equal() const { return rows - different; }
};

/// Compares every row, on all threads, and keeps the first `keep` differences.
DotCheck check_dots(const Dots& dots, const Instruction& instruction, std::size_t keep);

}  // namespace binade
