// SPDX-License-Identifier: Apache-2.0
//
// The losses of eight elements of a product at once. Accumulators, their exact values and the
// bounds on their distance are multiples of one 2^unit in 64 bits, and losses are masked-off bits
// of them. Every number equals the one that the definitions give: loss.h for losses, error_walk.h
// for bounds. Only these count elements without room in 64 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/fast/kernels.h"
#include "lib/gemm/account_lanes_plan.h"
#include "lib/gemm/loss.h"

namespace binade::lanes {

/// What one rule cost (Cost of account.h) in each lane: counts, and what it raised and lowered, in
/// units.
struct LaneCost {
  EightLongs steps{}, cut{}, vanished{}, raised{}, lowered{};
};

/// The products that share a top (the exponent of the lowest bit of a product that lies at the
/// exponent of its block, in units), a distance (binades below that exponent) and a fate, as two
/// words. The first holds their number, from bit 44 on, and below it the sum of their significands;
/// the second holds the sum of their lost bits.
using Cell [[gnu::vector_size(16)]] = std::uint64_t;
inline constexpr int cell_count_bit = 44;
static_assert((std::uint64_t{most_in_cell} + 1) << cell_count_bit == 0);
/// What a block's cut makes of a product: it is kept whole, it loses some bits, or it becomes zero.
/// `fates` is the number of these.
enum Fate : std::uint8_t { kept, cut, gone, fates };
inline constexpr int cell_distances = 64;  ///< the last distance is for products of zero
inline constexpr int cell_tops = 64;
constexpr std::size_t cell_of(int top, int fate, int distance) {
  return static_cast<std::size_t>((top * fates + fate) * cell_distances + distance);
}

/// What the elements of a piece lost, all in units of one 2^unit.
struct LaneAccount {
  explicit LaneAccount(std::size_t positions)
      : by_position(positions), magnitudes(positions), cells(cell_of(cell_tops, 0, 0)) {}

  std::vector<std::array<LaneCost, placed_loss_rules>> by_position;
  std::array<LaneCost, loss_rules> rules{};  ///< rules that have no position in K
  struct Magnitude {
    EightLongs low{}, high{};  ///< the sums of the 32 lower bits, and of the others
  };
  std::vector<Magnitude> magnitudes;  ///< Σ|product|
  std::vector<Cell> cells;
  /// Numbers of blocks: blocks, blocks_at_addend and blocks_at_floor of GemmAccount.
  EightLongs blocks{}, at_addend{}, at_floor{};

  LaneAccount& operator-=(const LaneAccount& other);
};

/// The factors of eight columns, ±significand · 2^exponent in each lane.
struct LaneFactors {
  EightInts significand{}, exponent = EightInts{} + zero_exponent;
};

/// The operands of eight elements of one row. `unit` is already subtracted from the exponents of b.
struct LaneOperands {
  const Factor* a = nullptr;
  const LaneFactors* b = nullptr;
  int unit = 0;
  int lowest = 0;  ///< no product has bits below 2^(unit + lowest)
};

/// The results of eight elements, in units: the computed sum, its exact value, a bound on the
/// distance between the two, Σ|product|, and the index in by_position of the last block. If `left`
/// is not 0, only the definition (loss.h) can count the element, and its other numbers mean
/// nothing.
struct LaneNumbers {
  EightLongs sum{}, exact{}, bound{}, products{}, left{}, last_position{};
};

/// Counts eight elements into an account. lane_run returns the function that account_lanes.inc
/// makes for the level of these kernels, and null for the reference level.
using LaneRun = LaneNumbers (*)(const AccountLanesPlan&, const LaneOperands&, LaneAccount&);
LaneRun lane_run(const Kernels& kernels);

}  // namespace binade::lanes
