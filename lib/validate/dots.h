// SPDX-License-Identifier: Apache-2.0
//
// Recorded dot products held against the emulator: row i of a and b and element i of c give element
// i of d.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"

namespace binade {

/// Arrays in files: a and b of shape (rows, K), c and d of shape (rows,); as bits (unsigned
/// integers of the format's width) or in the dtype itself. A K below the instruction's is padded
/// with +0; without c it is +0. Error with the file, the shape or the dtype, and what it should be.
struct DotFiles {
  std::string a, b;
  std::string d = {};  ///< empty: nothing was recorded, and d is zeros
  std::optional<std::string> c = {};
};
Dots read_dots(const DotFiles& files, const Instruction& instruction);

struct DotDifference {
  std::uint64_t row = 0;
  std::uint64_t recorded = 0;
  std::uint64_t emulated = 0;
};

struct DotCheck {
  std::uint64_t rows = 0;
  std::uint64_t different = 0;
  std::vector<DotDifference> first = {};  ///< in order of rows

  std::uint64_t equal() const { return rows - different; }
};

/// Every row, on all threads; keeps the first `keep` differences.
DotCheck check_dots(const Dots& dots, const Instruction& instruction, std::size_t keep);

/// How many numbers of the format lie between two encodings, and one; nothing where one is a NaN.
/// Both zeros are one number; infinity is the one after the largest.
std::optional<std::uint64_t> ulp_distance(std::uint64_t x, std::uint64_t y, const Format& f);

}  // namespace binade
