// SPDX-License-Identifier: Apache-2.0
//
// Chooses the rows that settle the undecided aspects of an instruction. They are few, and under
// each rival rule that the pool of rows can show some of them have another result than under ours.
// `binade record --dots open` runs them.
#pragma once

#include <cstdint>

#include "lib/cases/dots.h"
#include "lib/evidence/evidence.h"

namespace binade {

inline constexpr std::size_t most_undecided_rows = 64;

struct UndecidedRows {
  Dots rows;                           ///< the operands; d is zeros
  std::vector<std::string> unsettled;  ///< rivals that give our result on every row of the pool
};

/// Returns at most most_undecided_rows rows, which depend on the seed alone; no rows if hardware
/// has excluded every rival.
UndecidedRows undecided_rows(const Instruction& instruction, std::uint64_t seed);

}  // namespace binade
