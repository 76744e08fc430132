// SPDX-License-Identifier: Apache-2.0
//
// A product made ready for loss_lanes.h: the steps of its sum, the places of its blocks, operands taken apart and in
// the order of the blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/fast/lanes.h"
#include "emulate/gemm_model.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/sum_program.h"

namespace binade::lanes {

using namespace fast::lanes;

/// A factor's exponent where it is zero: below every other.
inline constexpr std::int32_t zero_exponent = -16384;
/// Accumulators of an element at once.
inline constexpr std::size_t most_depth = 8;
/// A cell counts fewer products.
inline constexpr int most_in_cell = 1 << 20;

/// A block's place in the order of the operands, and in K.
struct LaneBlock {
  int first = 0;
  int products = 0;
  std::size_t position = 0;
};

/// A product's steps, as eight elements take them.
struct LanePlan {
  bool known = false;
  bool plain_epilogue = false;  ///< lanes do: D is the sum, in its own format or another
  GemmModel model{};
  SumProgram program{};
  std::vector<int> places{};  ///< k of the operands in the order of the blocks, or -1
  std::vector<LaneBlock> blocks{};
  std::size_t instruction_blocks = 0;
  Format sum_format{};
  int product_bits = 0;  ///< of the fraction
};

/// Not known: operands or models that are the definition's alone.
LanePlan lane_plan(const GemmModel& model, const GemmOperands& x, std::size_t position_width);

/// How many rows' counts and losses the lanes' words hold.
std::size_t rows_at_once(const LanePlan& plan, std::size_t positions);

/// A factor of one row, or of eight columns: ±significand · 2^exponent.
struct Factor {
  std::int32_t significand = 0, exponent = zero_exponent;
};
/// A row of a or column of b.
struct FactorLine {
  std::size_t number = 0;
  bool usable = true;
  int lowest = 0;   ///< no bits below 2^lowest
  double norm = 0;  ///< the Euclidean one
};
/// All of them, those of the largest norms first, and their factors in the order of the plan's places: of line
/// number i from i·places on.
struct FactorLines {
  std::vector<FactorLine> order;
  std::vector<Factor> factors;
};

FactorLines lines_of(const LanePlan& plan, const std::vector<std::uint64_t>& codes, std::size_t k,
                     const Format& f);

}  // namespace binade::lanes
