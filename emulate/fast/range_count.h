// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h, of floats, into cells of two words, one for each exponent field and segment:
//
//     cell   nnnn nnnn nnnn nnnn nnnn nnnn ssss … ssss    n: how many, s: sum of their significands, 24 + 16 bits
//            sum of squares                               48 + 16 bits
//
// so 2^16 values fit, and a value costs one addition of two words, prepared for a tile of values at a time in
// operations of vector units. Zeros lie in field 0; subnormals, infinities and NaNs are the definition's. Errors are
// summed per field and column, four columns side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/range_count.h"

namespace binade::fast {

/// Work space, all zero between two calls.
struct RangeCells {
  struct Cell {
    std::uint64_t count_and_sum = 0;
    std::uint64_t squares = 0;
  };
  static constexpr std::size_t fields = 256;
  static constexpr std::size_t columns = max_error_columns;

  std::array<Cell, 16 * fields> cells{};  ///< by field, then segment
  std::array<std::array<std::uint64_t, columns>, fields> errors{};
  /// The rules of the fields that occur, by column; set by the call.
  struct Rules {
    std::array<std::uint32_t, columns> cap, mask, ulp;
  };
  std::array<Rules, fields> rules;
};

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work);

}  // namespace binade::fast
