// SPDX-License-Identifier: Apache-2.0
//
// Which rules some rows can decide, and in whose favour: for every rival the number of rows that
// distinguish it from our rule, and which of the two the recorded results follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/cases/dots.h"
#include "lib/evidence/evidence.h"
#include "lib/instruction/rule_choice.h"

namespace binade {

struct RivalTally {
  Rival rival;
  std::uint64_t tell = 0;    ///< rows to which the rival gives another result than our rule
  std::uint64_t ours = 0;    ///< how many of them have the recorded result of our rule
  std::uint64_t theirs = 0;  ///< how many of them have the recorded result of the rival
  bool explains = false;     ///< whether the rival gives the recorded result of every row
};

struct AspectTally {
  Aspect aspect{};
  Evidence evidence = Evidence::open;  ///< evidence for the aspect, by the table of instructions
  std::uint64_t touch = 0;             ///< rows whose result any rival changes
  std::vector<RivalTally> rivals;
};

/// Tallies the rivals of every aspect that operands can touch, over rows 0, step, 2·step …, on all
/// threads; if undecided_only, of all but those with Evidence::hardware. `instruction` is one of
/// the table; "our" rules are its own with those of `rules` in their place.
std::vector<AspectTally> tally_rivals(const Instruction& instruction, const Dots& dots,
                                      bool undecided_only, const RuleChoice& rules = {},
                                      std::size_t step = 1);

/// The number of rows that touched_by looks at for an aspect if looking at all of them would be
/// slow.
inline constexpr std::size_t most_looked_at = std::size_t{1} << 15;

/// An aspect whose evidence is paper or open, and how many of the rows or elements that were
/// looked at depend on it.
struct TouchedAspect {
  Aspect aspect{};
  Evidence evidence = Evidence::open;
  std::uint64_t count = 0, looked_at = 0;
};
struct Touched {
  std::uint64_t all = 0;               ///< all rows (or elements) there are
  std::uint64_t looked_at = 0;         ///< the smallest `looked_at` of any aspect
  std::vector<TouchedAspect> aspects;  ///< the aspects that any row touches
};
/// Returns the aspects that some rows touch. For rivals that only change zeros and specials every
/// row is looked at, for the others about most_looked_at rows, taken at equal distances.
Touched touched_by(const Instruction& instruction, const Dots& dots);

/// Returns a text like "of these 20 rows 12 touch signs of zero (open), 3 overflow (paper)", with
/// "of 20 looked at" after the count if not all rows were looked at for an aspect. Returns "" if
/// all rows were looked at and none touches any such aspect.
std::string touched_text(const Touched& touched, std::string_view noun);

/// Returns a line for every rival of every aspect and, if our rules do not give every row, the
/// rivals that do. `ours` is the name of our rules: binade, or the chosen rules.
std::string tally_text(const std::vector<AspectTally>& tally, std::string_view ours = "binade");

}  // namespace binade
