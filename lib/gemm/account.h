// SPDX-License-Identifier: Apache-2.0
//
// The loss account of a whole matrix product: what each rule of the Tensor Core cost, how often and how
// much, where along K, and how far below the largest exponent the products lay. Counts are integers and
// magnitudes exact sums, so that any split over threads adds up to the same account.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/gemm/gemm.h"
#include "lib/gemm/loss.h"
#include "lib/number/exact_sum.h"

namespace binade {

/// What a rule cost. delivered - exact, added up over its steps, is raised - lowered.
struct Cost {
  std::uint64_t steps = 0;     ///< terms or roundings that the rule applied to, zeros left out
  std::uint64_t cut = 0;       ///< of these: lost something
  std::uint64_t vanished = 0;  ///< of these: not zero before, zero after
  ExactSum raised, lowered;    ///< what was lost, by the direction in which the result moved

  ExactSum lost() const;
  Cost& operator+=(const Cost& other);
  friend bool operator==(const Cost&, const Cost&) = default;
};

/// Products that lie so many binades below the exponent that their block is aligned to.
struct DistanceRow {
  std::uint64_t products = 0;
  std::uint64_t cut = 0;
  std::uint64_t vanished = 0;
  ExactSum magnitude;  ///< Σ|product|
  ExactSum lost;       ///< of it: alignment and floor

  DistanceRow& operator+=(const DistanceRow& other);
  friend bool operator==(const DistanceRow&, const DistanceRow&) = default;
};

/// An element that is the worst in some way; the first of equals.
struct WorstElement {
  double ratio = 0;
  std::size_t row = 0, column = 0;

  friend bool operator==(const WorstElement&, const WorstElement&) = default;
};
/// Where the other one is worse, or as bad and before it, it takes its place.
void raise(WorstElement& worst, const WorstElement& other);

struct GemmAccount {
  /// The last row holds all that lies further below.
  static constexpr std::size_t distances = 81;
  /// Elements by floor(log2(error / bound)), from -(ratios - 1) or less to 0.
  static constexpr std::size_t ratios = 41;
  static constexpr std::size_t most_positions = 64;

  GemmModel model{};
  std::size_t m = 0, n = 0, k = 0;
  std::size_t position_width = 0;  ///< k in a row of `by_position`: a multiple of the instruction's

  std::uint64_t elements = 0;
  std::uint64_t special =
      0;                    ///< of these: with a NaN or an infinity on the way, in no other number
  std::uint64_t exact = 0;  ///< of these: D is the exact value

  std::array<Cost, loss_rules> rules{};
  std::vector<std::array<Cost, placed_loss_rules>> by_position;
  std::vector<ExactSum> product_position;  ///< Σ|product| there
  std::vector<DistanceRow> by_distance;    ///< of fused blocks; empty where there are none

  std::uint64_t products = 0;          ///< that are not zero
  std::uint64_t blocks = 0;            ///< fused ones with a term that is not zero
  std::uint64_t blocks_at_addend = 0;  ///< of these: only c has the largest exponent
  std::uint64_t blocks_at_floor = 0;   ///< of these: aligned to the floor, above every term

  ExactSum product_magnitude;  ///< Σ|a·b|: what shares are of
  ExactSum exact_magnitude;    ///< Σ|exact d|
  ExactSum error;              ///< Σ|d - exact|
  ExactSum raised, lowered;    ///< the same by the sign of d - exact
  ExactSum outward, inward;    ///< Σ||d| - |exact||, by which is larger

  std::array<std::uint64_t, ratios>
      by_ratio{};                  ///< error / bound of the elements that are not exact
  std::uint64_t beyond_bound = 0;  ///< never, of the model's own D
  WorstElement worst_relative;     ///< |d - exact| / |exact|, where exact is not 0
  WorstElement worst_to_products;  ///< |d - exact| / Σ|a·b| of the element
  WorstElement worst_to_bound;     ///< |d - exact| / bound

  GemmAccount& operator+=(const GemmAccount& other);
  friend bool operator==(const GemmAccount&, const GemmAccount&) = default;
};

/// Error for a product that has no account: integers, and instructions that each drop their accumulator
/// (scale-d 0) where there is more than one.
GemmAccount account(const GemmModel& model, const GemmOperands& operands,
                    const GemmProgress& progress = {}, const Kernels& kernels = fastest_kernels());

}  // namespace binade
