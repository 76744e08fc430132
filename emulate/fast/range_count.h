// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h, of floats, into cells of two words, one for each row of a RangeBlock and
// segment:
//
//     cell   nnnn nnnn nnnn nnnn nnnn nnnn ssss … ssss    n: how many, s: sum of their significands, 24 + 16 bits
//            sum of squares                               48 + 16 bits
//
// so 2^16 values fit, and a value costs one addition of two words, prepared for a tile of values at a time in
// operations of vector units. A subnormal number's row and significand are those of its fraction as a float:
//
//     0 00000000 0000…01f…f  as an integer, to float  →  0 127 + row  f…f0…0
//
// Zeros, infinities and NaNs are counted beside; they go to a cell that nobody reads. Errors are summed per row and
// column, four columns side by side.
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
  static constexpr std::size_t rows = static_cast<std::size_t>(RangeBlock<float>::binades);
  static constexpr std::size_t columns = max_error_columns;

  std::array<Cell, 16 * (rows + 1)> cells{};  ///< by row, then segment; the last row is nobody's
  std::array<std::array<std::uint64_t, columns>, rows + 1> errors{};
  /// The rules of the rows, by column; set by the call.
  struct Rules {
    std::array<std::uint32_t, columns> cap, mask, ulp;
  };
  std::array<Rules, rows + 1> rules{};
};

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work);

}  // namespace binade::fast
