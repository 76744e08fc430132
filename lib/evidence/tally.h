// SPDX-License-Identifier: Apache-2.0
//
// Which rules some rows decide, and for whom: for every rival the rows that tell it from ours, and which of
// the two the recorded results follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/cases/dots.h"
#include "lib/evidence/evidence.h"
#include "lib/evidence/rule_choice.h"

namespace binade {

struct RivalTally {
  Rival rival;
  std::uint64_t tell = 0;    ///< rows whose result it changes
  std::uint64_t ours = 0;    ///< of them: recorded as our rule has it
  std::uint64_t theirs = 0;  ///< of them: recorded as the rival has it
  bool explains = false;     ///< every row, also those that it does not change
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

/// What some rows, or elements of a product, hang on that nobody has seen: aspects known from papers, or open.
struct TouchedAspect {
  Aspect aspect{};
  Evidence evidence = Evidence::open;
  std::uint64_t count = 0, looked_at = 0;
};
struct Touched {
  std::uint64_t all = 0, looked_at = 0;  ///< for the aspect for which fewest were
  std::vector<TouchedAspect> aspects;    ///< that any touches
};
/// Rivals that change zeros and specials alone see every row; the others most_looked_at of them, taken evenly.
Touched touched_by(const Instruction& instruction, const Dots& dots);

/// "of these 20 rows 12 touch signs of zero (open), 3 overflow (paper)"; where not all were looked at for an aspect
/// "of 20 looked at". Empty: none does, or all is known.
std::string touched_text(const Touched& touched, std::string_view noun);

/// A line for every rival of every aspect, and which of them explain every row where ours do not. `ours` is what ours
/// are called: binade, or the chosen rules.
std::string tally_text(const std::vector<AspectTally>& tally, std::string_view ours = "binade");

}  // namespace binade
