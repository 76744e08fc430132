// SPDX-License-Identifier: Apache-2.0
//
// The rows that settle what is open of an instruction: few, and under each rival rule some of them have
// another result than under ours. `binade record --dots open` runs them.
#pragma once

#include <cstdint>

#include "lib/cases/dots.h"
#include "lib/evidence/evidence.h"

namespace binade {

inline constexpr std::size_t most_open_rows = 64;

struct OpenRows {
  Dots rows;
  std::vector<std::string> unsettled;  ///< rivals to which every row of the pool gives our result
};

/// At most most_open_rows, from the seed alone; no rows where hardware has excluded every rival.
OpenRows open_rows(const Instruction& instruction, std::uint64_t seed);

}  // namespace binade
