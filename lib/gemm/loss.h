// SPDX-License-Identifier: Apache-2.0
//
// What an element of a product loses, rule by rule: the events of a traced element
// (emulate/trace.h) are turned into exact losses, each with the rule that caused it and the k where
// it happened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulate/gemm.h"
#include "lib/number/signed_sum.h"

namespace binade {

/// Why bits were lost. The rules up to and including `promotion` have a position in K. Those from
/// `alpha` on act on D and not on the sum, so that d - exact = alpha·(what the others changed) +
/// (what these changed).
enum class LossRule : std::uint8_t {
  product_alignment,  ///< products cut because of the largest exponent of their block
  addend_alignment,   ///< c of a block cut because of that exponent
  /// Products cut further because the model's exponent floor, or a product of zero that counts,
  /// lies above that exponent.
  product_floor,
  addend_floor,  ///< c of a block cut further for the same reason
  /// A block's sum is rounded to the model's grid; without the part that accumulator_format counts.
  block_rounding,
  /// Rounding to a format narrower than binary32: what it loses beyond rounding to binary32 toward
  /// zero.
  accumulator_format,
  operation,  ///< rounded operations of a chain
  promotion,  ///< a partial sum is added to the register beside the accumulator
  c_last,     ///< c is added to a finished sum
  reduction,  ///< parts of K are converted and added
  alpha,
  beta,
  bias,
  output,  ///< the result is converted to D's format
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

/// Returns the rule that a rounded operation of this role counts for.
LossRule rule_of(Role role);

/// A product, or c of a block, that is not zero, and what was cut off it. Its magnitude is
/// significand · 2^exponent.
struct TermLoss {
  static constexpr int no_block = -1;
  bool addend = false;
  bool negative = false;
  /// Binades below the exponent that its block is aligned to; no_block: in no block, or in one of
  /// integers, which are not aligned.
  int distance = no_block;
  int place = 0;  ///< k of the product; for c that of the block's first product
  uint128 significand = 0;
  int exponent = 0;
  /// Cut because of the block's largest exponent, in units of 2^exponent.
  std::uint64_t alignment = 0;
  std::uint64_t floor = 0;  ///< cut further by the model's exponent floor, in the same units
};

/// A rounding, or a piece of one: delivered - exact is ±significand · 2^exponent, positive if
/// `raised`. A difference that one significand does not hold is several pieces in a row.
struct StepLoss {
  LossRule rule{};
  bool first = true;      ///< false: another piece of the same rounding as the StepLoss before
  bool vanished = false;  ///< the exact result is not zero, and the delivered one is
  bool raised = false;
  int place = 0;
  uint128 significand = 0;  ///< 0: the rounding was exact
  int exponent = 0;
};

/// What an element lost; `gemm_element(model, element, LossTrace{&losses})` fills it.
struct ElementLosses {
  std::vector<TermLoss> terms;
  std::vector<StepLoss> steps;
  SignedSum sum;         ///< delivered - exact of the sum, without the epilogue
  SignedSum after;       ///< delivered - exact of the epilogue's operations
  bool special = false;  ///< a NaN or an infinity occurred; the other members mean nothing
  std::uint64_t blocks = 0, blocks_at_addend = 0, blocks_at_floor = 0;

  void clear();

  // State that the tracer keeps from one event to the next.
  std::vector<TracedTerm> block;
  SignedSum difference;
  int last_place = 0;
};

/// The tracer. The first term of a block is its c, the sum so far.
struct LossTrace {
  ElementLosses* to = nullptr;

  void term(const TracedTerm& x) const;
  void block(const TracedBlock& x) const;
  void operation(const TracedOperation& x) const;
  void mark(SumMark, std::uint64_t) const {}
};

/// How far D is from the exact value.
struct ElementError {
  /// Whether D or a value on the way to it is a NaN or an infinity; if so, the sums are 0.
  bool special = false;
  SignedSum exact;       ///< the exact value of the element
  SignedSum difference;  ///< D - exact
};
ElementError element_error(const GemmModel& model, const ElementLosses& losses,
                           std::uint64_t result);

/// Throws Error if each instruction drops its accumulator (scale-d 0) and there is a sum to drop:
/// because there is more than one instruction, or because the sum begins with C. That sum is lost
/// as a whole, and no rule accounts for it. Never throws for instructions that keep their
/// accumulator.
void require_whole_sums(const GemmModel& model, std::size_t k);

/// Returns the value of an encoding of a floating-point or integer format, also a NaN or an
/// infinity.
Exact number_of(std::uint64_t bits, const Format& f);

}  // namespace binade
