// SPDX-License-Identifier: Apache-2.0
//
// How anyone knows what an instruction computes, for each aspect of its arithmetic. "hardware" is
// never written down: an aspect has this word if rows recorded on the instruction's own
// architecture exclude a rival rule (seen.tsv) and all of them are reproduced bit for bit. The
// other words stand in a table of claims in evidence.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lib/evidence/rivals.h"

namespace binade {

enum class Evidence : std::uint8_t {
  hardware,      ///< recorded rows exclude a rival, and are all reproduced
  machine_code,  ///< ptxas 13.0 makes the instruction of others, of which the aspect is known
  paper,         ///< published models agree on it; no rows exclude a rival
  open,          ///< undecided: assumed by analogy, or publications differ
};
inline constexpr std::array<std::string_view, 4> evidence_names{"hardware", "machine code", "paper",
                                                                "open"};
constexpr std::string_view evidence_name(Evidence evidence) {
  return evidence_names[static_cast<std::size_t>(evidence)];
}

/// A rival, named with the publication whose rule it is, and how many rows of hardware exclude it.
struct RivalRows {
  std::string rival;
  std::uint64_t rows = 0;

  friend bool operator==(const RivalRows&, const RivalRows&) = default;
};

/// What is known about one aspect of an instruction.
struct KnownAspect {
  /// Whether any operands can touch the aspect; if not, the other members mean nothing.
  bool matters = false;
  Evidence evidence = Evidence::open;
  /// The GPUs, the publication or the tool: "H100", "MMA-Sim 2.1", "ptxas 13.0"; or what it is
  /// taken to be like: "as sm_75", "by analogy"
  std::string source;
  std::vector<RivalRows> rivals;
  std::string words_exclude = {};  ///< the rival that published words of hardware exclude, if any
  /// The emulator of others whose results were compared with ours and are equal; empty if none was.
  /// It changes no word: rows of hardware say more.
  std::string agrees = {};

  /// Returns whether hardware has excluded some of the rivals, but not all.
  bool in_part() const;

  friend bool operator==(const KnownAspect&, const KnownAspect&) = default;
};
using Knowledge = std::array<KnownAspect, aspect_count>;

Knowledge knowledge_of(const Instruction& instruction);
inline const KnownAspect& known_of(const Knowledge& x, Aspect aspect) {
  return x[static_cast<std::size_t>(aspect)];
}

/// What is known about an instruction, short enough for a line.
struct Brief {
  Evidence evidence = Evidence::open;  ///< evidence for ordinary values
  std::string source;                  ///< source of that evidence
  /// The other aspects that no hardware has shown, by evidence: "paper: chaining; open: signs of
  /// zero". Those with the same evidence as ordinary values are left out, unless they are open.
  std::string open;

  friend bool operator==(const Brief&, const Brief&) = default;
};
Brief brief_of(const Knowledge& x);
/// Returns a line: "hardware (A100); paper: chaining, overflow; open: signs of zero".
std::string evidence_text(const Brief& x);
Brief brief_of(const Instruction& instruction);

/// An aspect of an instruction with the rivals that no hardware has excluded: the result of a row
/// may depend on them.
struct OpenAspect {
  Aspect aspect{};
  Evidence evidence = Evidence::open;
  std::vector<Rival> rivals;
};
std::vector<OpenAspect> open_aspects(const Instruction& instruction);

/// Returns whether ptxas makes the same machine instructions of two families, as of mma and wmma.
bool share_machine_code(Family x, Family y);

/// Returns the recorded sets that are evidence for an instruction, as indices into recorded_sets().
/// They have its architecture, model and types of c and d, and ran the same machine instruction
/// (wmma's k16 is mma's). Their a and b have its operand types or, where these differ, may both
/// have one of them.
std::vector<std::size_t> sets_for(const Instruction& instruction);

}  // namespace binade
