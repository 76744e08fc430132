// SPDX-License-Identifier: Apache-2.0
//
// What can be asked about the arithmetic of an instruction (aspects), and the rules that another answer
// would be (rivals): those of publications that differ from ours, and those next to ours. A row of operands
// touches an aspect if a rival of that aspect gives it another result: only such rows can say which is right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/tensor_core.h"

namespace binade {

enum class Aspect : std::uint8_t {
  ordinary,
  chaining,
  zero_operands,
  specials,
  overflow,
  subnormals,
  exponent_floor,
  signs_of_zero,
  zero_c,
  mixed_types,
};
inline constexpr std::size_t aspect_count = 10;

struct AspectRow {
  std::string_view name;
  std::string_view brief;     ///< at most five columns
  std::string_view question;  ///< what a row that touches it decides
};
inline constexpr std::array<AspectRow, aspect_count> aspects{{
    {"ordinary values", "value",
     "how many bits are kept, how many products are one sum, how it is rounded"},
    {"chaining", "chain", "how the blocks of a longer k follow each other"},
    {"zero operands", "zeros", "whether a product of zero counts towards the largest exponent"},
    {"specials", "NaN", "what NaN and Inf make, and the bits of a NaN"},
    {"overflow", "over", "what a sum beyond the range is"},
    {"subnormal results", "subn", "whether subnormal sums are kept"},
    {"exponent floor", "floor", "below which exponent products are cut whatever the others are"},
    {"signs of zero", "sign", "the sign of a sum that is zero, or is cut to it"},
    {"c = 0", "c=0", "whether a c of zero counts towards the largest exponent"},
    {"mixed types", "mix", "whether operands of unlike types are as of like ones"},
}};

constexpr const AspectRow& row_of(Aspect aspect) {
  return aspects[static_cast<std::size_t>(aspect)];
}

/// A row of operands, k of them, and what our rules make of it.
struct SeenRow {
  const Instruction& how;
  const std::uint64_t* a;
  const std::uint64_t* b;
  std::uint64_t c, d;
};

/// Another rule for an instruction.
struct Rival {
  Aspect aspect{};
  std::string name;
  std::string_view whose{};  ///< the publication; empty: nobody's, the rule next to ours
  bool shows = true;         ///< whether some operands have another result under it
  DotModel model{};
  DotTypes types{};
  /// Instead of a model, where no other rule is at hand: whether a row asks for one.
  bool (*sees)(const SeenRow& row) = nullptr;

  /// Its result, or for one without a model ours with a bit changed where the row asks.
  std::uint64_t result(const SeenRow& row) const;
  bool differs(const SeenRow& row) const { return result(row) != row.d; }
};

/// The rivals of an instruction that show; names are unlike. `every_rival`: those too that never do.
std::vector<Rival> rivals_of(const Instruction& instruction);
std::vector<Rival> every_rival(const Instruction& instruction);

}  // namespace binade
