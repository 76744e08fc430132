// SPDX-License-Identifier: Apache-2.0
//
// The questions that can be asked about the arithmetic of an instruction (aspects), and other rules
// that would answer them (rivals): those of publications that differ from our rules, and those next
// to ours. A row of operands touches an aspect if a rival of that aspect gives it another result.
// Only such rows can show which rule is right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"

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
  std::string_view brief;     ///< short name, at most five columns
  std::string_view question;  ///< the question that a row decides which touches the aspect
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

/// A row of k operands each, c, scales of blocks where there are such, and the result d by our
/// rules.
struct SeenRow {
  const Instruction& how;
  const std::uint64_t* a;
  const std::uint64_t* b;
  std::uint64_t c, d;
  DotScales scales{};
};
/// Returns the row of these operands; it refers to the instruction and the operands.
SeenRow seen_row(const Instruction& how, const RowOperands& operands);

/// Another rule for an instruction.
struct Rival {
  Aspect aspect{};
  std::string name;
  /// The publication that has this rule; empty: none has, it is next to ours.
  std::string_view whose{};
  bool shows = true;  ///< whether some operands have another result under it
  DotModel model{};
  DotTypes types{};
  /// Used instead of a model if nobody has another rule: returns whether a row depends on the rule.
  bool (*sees)(const SeenRow& row) = nullptr;
  /// Used instead of a model if no model is the rule: returns the row's result.
  std::uint64_t (*gives)(const SeenRow& row) = nullptr;

  bool has_model() const { return sees == nullptr && gives == nullptr; }
  /// Returns the row's result under the rival. Of a rule that is only seen this is our result, with
  /// all bits flipped if the row depends on the rule.
  std::uint64_t result(const SeenRow& row) const;
  bool differs(const SeenRow& row) const { return result(row) != row.d; }
};

/// Returns the rivals of an instruction that some operands distinguish from our rules; every_rival
/// also returns the others. All names differ.
std::vector<Rival> rivals_of(const Instruction& instruction);
std::vector<Rival> every_rival(const Instruction& instruction);

}  // namespace binade
