// SPDX-License-Identifier: Apache-2.0
//
// How anyone knows what an instruction computes, aspect by aspect. "hardware" is never written down: it is
// said where rows that were recorded on that architecture exclude a rival (seen.tsv), and all of them are
// reproduced bit for bit. The other words stand in a table of claims.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lib/evidence/rivals.h"

namespace binade {

enum class Evidence : std::uint8_t {
  hardware,      ///< recorded rows decide it, and are reproduced
  machine_code,  ///< ptxas 13.0 makes it of other instructions, and of those it is known
  paper,         ///< published models say it and agree; no rows
  open,          ///< by analogy, or publications differ
};
inline constexpr std::array<std::string_view, 4> evidence_names{"hardware", "machine code", "paper",
                                                                "open"};
constexpr std::string_view evidence_name(Evidence evidence) {
  return evidence_names[static_cast<std::size_t>(evidence)];
}

/// A rival, with the publication whose rule it is, and how many rows of hardware exclude it.
struct RivalRows {
  std::string rival;
  std::uint64_t rows = 0;

  friend bool operator==(const RivalRows&, const RivalRows&) = default;
};

/// What is known of one aspect.
struct KnownAspect {
  bool matters = false;  ///< some operands can touch it; else the rest says nothing
  Evidence evidence = Evidence::open;
  std::string source;  ///< whose rows, which publication, made of what
  std::vector<RivalRows> rivals;

  /// Hardware has excluded some of the rivals and not all.
  bool in_part() const;

  friend bool operator==(const KnownAspect&, const KnownAspect&) = default;
};
using Knowledge = std::array<KnownAspect, aspect_count>;

Knowledge knowledge_of(const Instruction& instruction);
inline const KnownAspect& known_of(const Knowledge& x, Aspect aspect) {
  return x[static_cast<std::size_t>(aspect)];
}

/// The same in a line.
struct Brief {
  Evidence evidence = Evidence::open;  ///< of ordinary values
  std::string source;                  ///< of that
  std::string open;  ///< other aspects that no hardware showed: "signs of zero open; …"

  friend bool operator==(const Brief&, const Brief&) = default;
};
Brief brief_of(const Knowledge& x);
/// "hardware (A100); paper: chaining, overflow; open: signs of zero"
std::string evidence_text(const Brief& x);
Brief brief_of(const Instruction& instruction);

/// An aspect of an instruction with the rivals that no hardware has excluded: what rows may depend on.
struct OpenAspect {
  Aspect aspect{};
  Evidence evidence = Evidence::open;
  std::vector<Rival> rivals;
};
std::vector<OpenAspect> open_aspects(const Instruction& instruction);

/// Whether the instructions of two families are the same ones of the machine: mma's and wmma's are.
bool share_machine_code(Family x, Family y);

/// The recorded sets that count for an instruction: of its architecture, types and model, and the same instruction of
/// the machine (wmma's k16 is mma's); places in recorded_sets().
std::vector<std::size_t> sets_for(const Instruction& instruction);

}  // namespace binade
