// SPDX-License-Identifier: Apache-2.0
//
// What a product loses on its way, rule by rule: the events of a traced element (emulate/trace.h) turned
// into exact losses, each told to a sink with the rule that caused it and the k where it happened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulate/gemm.h"
#include "lib/number/signed_sum.h"

namespace binade {

/// Why bits went. Up to `promotion` a loss has a position in K; from `alpha` on it happens to D and not
/// to the sum, so that d - exact = alpha·(what the others changed) + (what these changed).
enum class LossRule : std::uint8_t {
  product_alignment,   ///< products cut because of the largest exponent of their block
  addend_alignment,    ///< c of a block, likewise
  product_floor,       ///< cut further because the model's exponent floor lies above that exponent
  addend_floor,        ///< c of a block, likewise
  block_rounding,      ///< a block's sum into the model's grid, but for what the next one counts
  accumulator_format,  ///< into a format below binary32, beyond what binary32 toward zero loses
  operation,           ///< rounded operations of a chain
  promotion,           ///< a partial sum into the register beside the accumulator
  c_last,              ///< c added to a finished sum
  reduction,           ///< parts of K, converted and added
  alpha,
  beta,
  bias,
  output,  ///< into D's format
};
inline constexpr std::size_t loss_rules = 14;
inline constexpr std::size_t placed_loss_rules = 8;

constexpr std::size_t index_of(LossRule rule) { return static_cast<std::size_t>(rule); }

struct LossRuleName {
  std::string_view name, meaning;
};
inline constexpr std::array<LossRuleName, loss_rules> loss_rule_names{{
    {"product_alignment", "products cut at the block's largest exponent"},
    {"addend_alignment", "accumulator cut at the block's largest exponent"},
    {"product_floor", "products cut further by the exponent floor"},
    {"addend_floor", "accumulator cut further by the exponent floor"},
    {"block_rounding", "a block's sum rounded into the grid"},
    {"accumulator_format", "rounded into less than binary32"},
    {"operation", "operations of a chain, rounded"},
    {"promotion", "accumulator added to the register beside it"},
    {"c_last", "accumulator added to an instruction's sum"},
    {"reduction", "parts of K added"},
    {"alpha", "alpha times the sum"},
    {"beta", "beta times C"},
    {"bias", "the bias added"},
    {"output", "into D's format"},
}};
constexpr std::string_view loss_rule_name(LossRule rule) {
  return loss_rule_names[index_of(rule)].name;
}

/// The rule of a rounded operation.
LossRule rule_of(Role role);

/// A product, or c of a block, that is not zero, and what cutting it took. Its magnitude is
/// significand · 2^exponent.
struct TermLoss {
  static constexpr int no_block = -1;
  bool addend = false;
  bool negative = false;
  int distance = no_block;  ///< binades below the exponent that its block is aligned to
  int place = 0;            ///< k; of c, of the block's first product
  uint128 significand = 0;
  int exponent = 0;
  std::uint64_t alignment = 0;  ///< what the block's largest exponent took, in units of 2^exponent
  std::uint64_t floor = 0;      ///< what the model's floor took besides
};

/// A rounding: delivered minus exact, of which the direction and the magnitude as one or more pieces.
struct StepLoss {
  LossRule rule{};
  bool first = true;      ///< false: another piece of the loss before
  bool vanished = false;  ///< not zero before, zero after
  bool raised = false;
  int place = 0;
  uint128 significand = 0;  ///< 0: nothing was lost
  int exponent = 0;
};

/// What an element lost: filled by `gemm_element(model, element, LossTrace{&losses})`.
struct ElementLosses {
  std::vector<TermLoss> terms;
  std::vector<StepLoss> steps;
  SignedSum sum;         ///< delivered - exact of the sum, before alpha
  SignedSum after;       ///< likewise of the epilogue
  bool special = false;  ///< a NaN or an infinity on the way; then nothing else counts
  std::uint64_t blocks = 0, blocks_at_addend = 0, blocks_at_floor = 0;

  void clear();

  // What the tracer keeps from one event to the next.
  std::vector<TracedTerm> block;
  SignedSum difference;
  int last_place = 0;
};

/// The tracer. The first term of a block is its c.
struct LossTrace {
  ElementLosses* to = nullptr;

  void term(const TracedTerm& x) const;
  void block(const TracedBlock& x) const;
  void operation(const TracedOperation& x) const;
  void mark(SumMark, std::uint64_t) const {}
};

/// How far D is from the exact value.
struct ElementError {
  bool special = false;  ///< D, or something on the way, is a NaN or an infinity
  SignedSum exact;
  SignedSum difference;  ///< D - exact
};
ElementError element_error(const GemmModel& model, const ElementLosses& losses,
                           std::uint64_t result);

/// Error where instructions each drop their accumulator (scale-d 0) and there is more than one, or C is
/// in it: what is lost then is lost with the sum that was.
void require_whole_sums(const GemmModel& model, std::size_t k);

/// An encoding of a floating-point or integer format as an exact number.
Exact number_of(std::uint64_t bits, const Format& f);

}  // namespace binade
