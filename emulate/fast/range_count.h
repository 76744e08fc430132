// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h, of floats, into cells of two words, one for each binade and segment:
//
//     cell   nnnn nnnn nnnn nnnn nnnn nnnn ssss … ssss    n: how many, s: sum of their significands, 24 + 16 bits
//            sum of squares                               48 + 16 bits
//
// so 2^16 values fit, and a value costs one addition of two words, prepared for a tile of values at a time in
// operations of vector units. Neighbours in memory take turns among copies of the cells, lest one addition wait for
// another. Rows of cells are exponent fields, and for subnormal numbers those of the fraction as a float:
//
//     0 00000000 0000…01f…f  as an integer, to float  →  0 127 + k  f…f0…0  →  row 256 + k
//
// What is no finite number or zero has a row too: segment 0 of the last field counts infinities, its other segments NaNs.
// Errors are summed per row and column, several columns side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/range_count.h"

namespace binade::fast {

/// Work space, all zero between two calls but for the rules.
struct RangeCells {
  struct Cell {
    std::uint64_t count_and_sum = 0;
    std::uint64_t squares = 0;
  };
  static constexpr std::size_t special_row = 255, subnormal_rows = 256;
  static constexpr std::size_t rows = subnormal_rows + 23;
  static constexpr std::size_t columns = max_error_columns;
  /// Neighbours take turns between the halves of a row's sums of errors where so many columns do.
  static constexpr std::size_t columns_in_turn = columns / 2;
  static constexpr std::size_t copies = 4;
  /// Values that are counted before the cells are emptied.
  static constexpr std::size_t capacity = copies << 16, capacity_with_errors = std::size_t{1} << 16;

  /// By row, a row's from the last segment down to the first.
  alignas(64) std::array<std::array<Cell, rows * std::size_t{segments}>, copies> cells{};
  alignas(64) std::array<std::array<std::uint64_t, columns>, rows> errors{};
  /// Of 24-bit significands, as `set_rules` has put them; those of other columns are anything.
  struct Rules {
    std::array<std::uint32_t, columns> cap, mask, ulp;
  };
  alignas(64) std::array<Rules, rows> rules{};
  /// Whose rules they are, and of which order.
  std::array<ErrorColumn, columns> rules_of{};
  std::size_t rule_columns = 0, rule_half = 0;
};

/// What there was besides.
struct RangeSeen {
  std::uint64_t negative = 0, zeros = 0;  ///< zeros that are in no cell
  std::uint32_t largest = 0,
                smallest_less_one = ~std::uint32_t{0};  ///< encodings of finite non-zero magnitudes
};

/// Fewer values are left to the definition: to empty cells costs as much.
inline constexpr std::size_t few_values = 128;

/// The rules of a block's columns in the order of vectors whose even lanes have `half` columns, and odd lanes the next: unless
/// they are there from the last call.
void set_rules(RangeCells& work, const RangeBlock<float>& block, std::size_t half);

/// Adds the cells to a block.
void empty_cells(RangeBlock<float>& block, RangeCells& work, const RangeSeen& seen);

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work);

}  // namespace binade::fast
