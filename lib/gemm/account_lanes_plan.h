// SPDX-License-Identifier: Apache-2.0
//
// Prepares a product for account_lanes.h: the steps of its sum, the places of its blocks, and its
// operands, decoded and in the order of the blocks.
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

/// The exponent of a factor that is zero; it lies below every other.
inline constexpr std::int32_t zero_exponent = -16384;
/// Number of accumulators of an element that the lanes have room for. A sum that needs as many or
/// more at once is left to the definition.
inline constexpr std::size_t most_depth = 8;
/// The greatest number of products that a cell of account_lanes.h has room to count.
inline constexpr int most_in_cell = (1 << 20) - 1;

/// A block of a fused sum: the index of its first operand in the order of the blocks, its number of
/// products, and the entry of GemmAccount::by_position that it counts in.
struct LaneBlock {
  int first = 0;
  int products = 0;
  std::size_t position = 0;
};

/// The steps of a product's sum, as eight elements take them together.
struct AccountLanesPlan {
  bool known = false;  ///< whether the lanes can count this product
  /// Whether the lanes compute D: it is the sum, converted to D's format.
  bool plain_epilogue = false;
  GemmModel model{};
  SumProgram program{};
  std::vector<int> places{};  ///< k of each operand in the order of the blocks; -1: padding
  std::vector<LaneBlock> blocks{};
  std::size_t instruction_blocks = 0;  ///< number of blocks of one instruction
  Format sum_format{};
  int product_bits = 0;  ///< fraction bits of a product
};

/// Returns the plan of a product; `known` is false if only the definition (loss.h) can count it.
AccountLanesPlan account_lanes_plan(const GemmModel& model, const GemmOperands& x,
                                    std::size_t position_width);

/// Returns for how many rows, at most 64, the counts and losses of eight columns have room in the
/// lanes' words; 0 if not even those of one row have. plan.known must be true.
std::size_t rows_at_once(const AccountLanesPlan& plan, std::size_t positions);

/// An operand, ±significand · 2^exponent. A zero and padding have significand 0 and zero_exponent.
struct Factor {
  std::int32_t significand = 0, exponent = zero_exponent;
};
/// A row of a or a column of b.
struct FactorLine {
  std::size_t number = 0;
  bool usable = true;  ///< no operand is a NaN or an infinity
  int lowest = 0;      ///< its operands have no bits below 2^lowest; 32767 if all are zero
  double norm = 0;     ///< Euclidean norm
};
/// All rows, or all columns, the usable ones first and those of the largest norms first, and their
/// factors in the order of the plan's places. The factors of line number i begin at index i ·
/// places.
struct FactorLines {
  std::vector<FactorLine> order;
  std::vector<Factor> factors;
};

FactorLines lines_of(const AccountLanesPlan& plan, const std::vector<std::uint64_t>& codes,
                     std::size_t k, const Format& f);

}  // namespace binade::lanes
