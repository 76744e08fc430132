// SPDX-License-Identifier: Apache-2.0
//
// Which rules some rows decide, and for whom: for every rival the rows that tell it from ours, and which of
// the two the recorded results follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/evidence/evidence.h"
#include "lib/record/dots.h"

namespace binade {

struct RivalTally {
  Rival rival;
  std::uint64_t tell = 0;    ///< rows whose result it changes
  std::uint64_t ours = 0;    ///< of them: recorded as our rule has it
  std::uint64_t theirs = 0;  ///< of them: recorded as the rival has it
};

struct AspectTally {
  Aspect aspect{};
  Evidence evidence = Evidence::open;  ///< of the aspect, as the table has it
  std::uint64_t touch = 0;             ///< rows that any rival changes
  std::vector<RivalTally> rivals;
};

/// Every aspect of an instruction of the table, or those that no hardware has shown, over rows 0, step, 2·step …; on
/// all threads. "Ours" are the rules that were chosen. Aspects that no operands can touch are left out.
std::vector<AspectTally> tally_rivals(const Instruction& instruction, const Dots& dots,
                                      bool open_alone, const RuleChoice& rules = {},
                                      std::size_t step = 1);

/// How many rows are looked at where somebody only wants to know whether they touch what is open.
inline constexpr std::size_t most_looked_at = std::size_t{1} << 15;

/// "12 of these rows touch signs of zero (open), 3 overflow (paper)"; empty: none does, or all is known.
std::string touched_text(const Instruction& instruction, const Dots& dots);

/// A line for every rival of every aspect.
std::string tally_text(const std::vector<AspectTally>& tally);

}  // namespace binade
