// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h, equal in every count and sum, of floats: each value is
// added to the cell of its binade (row) and segment of the significand. A cell is two words of 64
// bits:
//
//     cell   nnnn nnnn nnnn nnnn nnnn nnnn ssss … ssss    n: count of 24 bits; s: sum of significands, 24 + 16 bits
//            sum of squares                               48 + 16 bits
//
// So 2^16 values fit, and a value costs one addition of two words, prepared for a tile of values at
// a time in operations of vector units. Neighbours in memory take turns among four copies of the
// cells, so that no addition waits for the one before. A row is an exponent field; a subnormal
// number has the row of its fraction as a float:
//
//     0 00000000 0000…01f…f  as an integer, to float  →  0 127 + k  f…f0…0  →  row 256 + k
//     5 · 2^-149: fraction 101, to float 1.25 · 2^2, field 129                →  row 258, significand 1.25
//
// Zeros have row 0; in row 255, segment 0 counts infinities and the other segments NaNs. Squared
// rounding errors are summed by row and column, several columns side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/range_count.h"

namespace binade::fast {

/// Work space of a caller: all zero between two calls, except the rules, which are kept for the
/// next call.
struct RangeCells {
  struct Cell {
    std::uint64_t count_and_sum = 0;
    std::uint64_t squares = 0;
  };
  static constexpr std::size_t special_row = 255, subnormal_rows = 256;
  static constexpr std::size_t rows = subnormal_rows + 23;
  static constexpr std::size_t columns = max_error_columns;
  /// Where at most this many columns are in use, neighbours take turns between the two halves of a
  /// row's sums of errors.
  static constexpr std::size_t columns_in_turn = columns / 2;
  static constexpr std::size_t copies = 4;
  /// The number of values after which the cells are emptied; smaller with errors, whose sums have
  /// no copies.
  static constexpr std::size_t capacity = copies << 16, capacity_with_errors = std::size_t{1} << 16;

  /// Ordered by row, and in a row from the last segment down to the first.
  alignas(64) std::array<std::array<Cell, rows * std::size_t{segments}>, copies> cells{};
  alignas(64) std::array<std::array<std::uint64_t, columns>, rows> errors{};
  /// ErrorRules for 24-bit significands, in the order of set_rules; entries of columns that are not
  /// in use are anything.
  struct Rules {
    std::array<std::uint32_t, columns> cap, mask, ulp;
  };
  alignas(64) std::array<Rules, rows> rules{};
  /// The columns that the rules stand for, and the `half` that set_rules ordered them by.
  std::array<ErrorColumn, columns> rules_of{};
  std::size_t rule_columns = 0, rule_half = 0;
};

/// What is counted outside the cells.
struct RangeSeen {
  std::uint64_t negative = 0, zeros = 0;  ///< zeros that are in no cell
  std::uint32_t largest = 0,
                smallest_less_one = ~std::uint32_t{0};  ///< encodings of finite non-zero magnitudes
};

/// The definition counts arrays of fewer values, since emptying the cells would cost as much.
inline constexpr std::size_t few_values = 128;

/// Sets the rules of a block's columns, unless they are there from the last call. A vector of 2 ·
/// half lanes has `half` columns in its even lanes and the next `half` in its odd lanes.
void set_rules(RangeCells& work, const RangeBlock<float>& block, std::size_t half);

/// Adds the cells, and what was seen besides, to a block, and empties them.
void empty_cells(RangeBlock<float>& block, RangeCells& work, const RangeSeen& seen);

/// Adds n floats to a block.
void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work);

}  // namespace binade::fast
