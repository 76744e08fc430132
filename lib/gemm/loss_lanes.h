// SPDX-License-Identifier: Apache-2.0
//
// Eight elements of a product at once, and what they lose: each accumulator, its exact value and the bound on
// their distance as multiples of one 2^unit in 64 bits, losses as masks of them. Equal to the trace of loss.h and
// the walk of error_walk.h in every number; an element that does not fit is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/fast/kernels.h"
#include "lib/gemm/lane_plan.h"
#include "lib/gemm/loss.h"

namespace binade::lanes {

/// Of one rule, lane by lane, in units.
struct LaneCost {
  EightLongs steps{}, cut{}, vanished{}, raised{}, lowered{};
};

/// Products with one top, distance and fate: how many (from bit 44 on) and their significands; of these the bits lost.
using Cell [[gnu::vector_size(16)]] = std::uint64_t;
inline constexpr int cell_count_bit = 44;
static_assert(std::uint64_t{most_in_cell} << cell_count_bit == 0);
enum Fate : std::uint8_t { kept, cut, gone, fates };
inline constexpr int cell_distances = 64;  ///< the last for products of zero
inline constexpr int cell_tops = 64;
constexpr std::size_t cell_of(int top, int fate, int distance) {
  return static_cast<std::size_t>((top * fates + fate) * cell_distances + distance);
}

/// What some elements lost, all in units of one 2^unit.
struct LaneAccount {
  explicit LaneAccount(std::size_t positions)
      : by_position(positions), magnitudes(positions), cells(cell_of(cell_tops, 0, 0)) {}

  std::vector<std::array<LaneCost, placed_loss_rules>> by_position;
  std::array<LaneCost, loss_rules> rules{};  ///< those without a position
  struct Magnitude {
    EightLongs low{}, high{};  ///< the 32 lower bits, the others
  };
  std::vector<Magnitude> magnitudes;  ///< Σ|product|
  std::vector<Cell> cells;
  EightLongs blocks{}, at_addend{}, at_floor{};

  LaneAccount& operator-=(const LaneAccount& other);
};

/// Of eight columns.
struct LaneFactors {
  EightInts significand{}, exponent = EightInts{} + zero_exponent;
};

/// The eight elements' operands; 2^unit is taken from those of b.
struct LaneOperands {
  const Factor* a = nullptr;
  const LaneFactors* b = nullptr;
  int unit = 0;
  int lowest = 0;  ///< no product has bits below 2^(unit + lowest)
};

/// The eight elements in units, where `left` is 0.
struct LaneNumbers {
  EightLongs sum{}, exact{}, bound{}, products{}, left{}, last_position{};
};

/// Counts eight elements: from loss_lanes.inc, of the level of these kernels; null of the reference's.
using LaneRun = LaneNumbers (*)(const LanePlan&, const LaneOperands&, LaneAccount&);
LaneRun lane_run(const Kernels& kernels);

}  // namespace binade::lanes
