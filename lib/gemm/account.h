// SPDX-License-Identifier: Apache-2.0
//
// The loss account of a whole matrix product: the sum of the losses of all its elements. It says
// what each rule of the Tensor Core cost, how often and how much, where along K, and how far the
// products lay below the largest exponent of their block. Counts are integers and magnitudes are
// exact sums, so any split over threads adds up to the same account.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/gemm/gemm.h"
#include "lib/gemm/loss.h"
#include "lib/number/exact_sum.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// What a rule cost, summed over its steps. delivered - exact is raised - lowered.
struct Cost {
  /// Number of terms or roundings that the rule applied to, without those of zero.
  std::uint64_t steps = 0;
  std::uint64_t cut = 0;       ///< how many of the steps lost something
  std::uint64_t vanished = 0;  ///< how many of the steps turned a number other than zero into zero
  /// What was lost, as magnitudes: raised where the result grew, lowered where it fell.
  ExactSum raised, lowered;

  ExactSum lost() const;
  Cost& operator+=(const Cost& other);
  friend bool operator==(const Cost&, const Cost&) = default;
};

/// The products that lie one given number of binades below the exponent that their block is aligned
/// to; the number is the index of the row in GemmAccount::by_distance.
struct DistanceRow {
  std::uint64_t products = 0;
  std::uint64_t cut = 0;
  std::uint64_t vanished = 0;
  ExactSum magnitude;  ///< Σ|product|
  ExactSum lost;       ///< magnitude of what alignment and exponent floor cut off

  DistanceRow& operator+=(const DistanceRow& other);
  friend bool operator==(const DistanceRow&, const DistanceRow&) = default;
};

/// The element of D with the largest value of some ratio; the first one, row after row, of equals.
/// A ratio of 0 means that there is none.
struct WorstElement {
  double ratio = 0;
  std::size_t row = 0, column = 0;

  friend bool operator==(const WorstElement&, const WorstElement&) = default;
};
/// Replaces `worst` by `other` if `other` has the larger ratio, or the same ratio (not 0) and comes
/// first.
void keep_worse(WorstElement& worst, const WorstElement& other);

struct GemmAccount {
  /// Number of rows of by_distance. The last row holds all products that lie 80 binades or more
  /// below.
  static constexpr std::size_t distances = 81;
  /// Number of bins of by_ratio. Bin i counts the elements whose error / bound lies in [2^-i,
  /// 2^(1-i)); the last bin also holds all smaller ratios, bin 0 all larger ones.
  static constexpr std::size_t ratios = 41;
  static constexpr std::size_t most_positions = 64;

  GemmModel model{};
  std::size_t m = 0, n = 0, k = 0;  ///< a is m × k, b is k × n
  /// Number of k that one entry of by_position covers: a multiple of the instruction's k.
  std::size_t position_width = 0;

  std::uint64_t elements = 0;
  /// Elements with a NaN or an infinity in the operands, on the way or in D. No other number counts
  /// them, except `elements`.
  std::uint64_t special = 0;
  std::uint64_t exact = 0;  ///< number of elements whose D is the exact value

  std::array<Cost, loss_rules> rules{};
  std::vector<std::array<Cost, placed_loss_rules>> by_position;
  std::vector<ExactSum> product_position;  ///< Σ|product| of each entry of by_position
  /// For products in fused blocks; empty if the model has none.
  std::vector<DistanceRow> by_distance;

  std::uint64_t products = 0;  ///< number of products that are not zero
  std::uint64_t blocks = 0;    ///< number of blocks with a term that is not zero
  /// Blocks aligned to the exponent of c, which lies above those of all products (and is not below
  /// the floor).
  std::uint64_t blocks_at_addend = 0;
  /// Blocks aligned to an exponent above those of all terms: the floor or, in models in which
  /// products of zero count, that of a product of zero.
  std::uint64_t blocks_at_floor = 0;

  ExactSum product_magnitude;  ///< Σ|a·b|: the whole that losses are given as shares of
  ExactSum exact_magnitude;    ///< Σ|exact d|
  ExactSum error;              ///< Σ|d - exact|
  ExactSum raised, lowered;    ///< the error, split by the sign of d - exact
  /// Σ||d| - |exact||: outward where |d| is larger, inward where |exact| is
  ExactSum outward, inward;

  /// Number of elements that are not exact, by error / bound (see `ratios`).
  std::array<std::uint64_t, ratios> by_ratio{};
  std::uint64_t beyond_bound = 0;  ///< error above the bound; always 0, since D is the model's own
  WorstElement worst_relative;     ///< |d - exact| / |exact|, where exact is not 0
  WorstElement worst_to_products;  ///< |d - exact| / Σ|a·b| of the element
  WorstElement worst_to_bound;     ///< |d - exact| / bound

  /// Adds an account of other elements; its model, K and position_width must be the same.
  GemmAccount& operator+=(const GemmAccount& other);
  friend bool operator==(const GemmAccount&, const GemmAccount&) = default;
};

/// Returns the loss account of a product. Throws Error, as require_whole_sums (loss.h) does, for a
/// product that has no exact value to compare with: one whose instructions drop their accumulator
/// (scale-d 0), if there are several or the sum begins with C; and if operands do not fit m, n and
/// k, or the model does not pass check() (model_check.h).
GemmAccount account(const GemmModel& model, const GemmOperands& operands,
                    const GemmProgress& progress = {}, const Kernels& kernels = fastest_kernels());

}  // namespace binade
