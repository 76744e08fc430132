// SPDX-License-Identifier: Apache-2.0
//
// Walks over the elements of a tile whose packed lines of operands lie one after the other, and the
// scales of its lines:
//
//     rows     row 0: x.length operands   row 1 …      x.first is the first operand that is read
//     columns  column 0                   column 1 …
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/products.h"

namespace binade::fast {

/// The packed lines of a tile: row(i) and column(j) point to the operands of element (i, j).
template <class Operand>
struct ProductLines {
  const ProductTile& x;

  const Operand* row(int i) const { return line(x.rows, i); }
  const Operand* column(int j) const { return line(x.columns, j); }

 private:
  const Operand* line(const std::byte* group, int i) const {
    return reinterpret_cast<const Operand*>(group) + static_cast<std::size_t>(i) * x.length +
           x.first;
  }
};

/// Calls element(i, j, row, column, sum) for each element (i, j) that is not in `left`, and sets it
/// there where that returns false.
template <class Operand, class Element>
void for_places(const ProductTile& x, TileSums& sums, TileMask& left, const Element& element) {
  const ProductLines<Operand> lines{x};
  for (int j = 0; j < x.column_count; ++j) {
    const auto column = static_cast<std::size_t>(j);
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.row_count); ++row) {
      if ((left[row] >> j & 1) != 0) continue;
      const bool done = element(row, column, lines.row(static_cast<int>(row)), lines.column(j),
                                sums[row][column]);
      if (!done) left[row] |= std::uint32_t{1} << j;
    }
  }
}
/// Calls element(row, column, sum) likewise.
template <class Operand, class Element>
void for_elements(const ProductTile& x, TileSums& sums, TileMask& left, const Element& element) {
  for_places<Operand>(x, sums, left,
                      [&element](std::size_t, std::size_t, const Operand* a, const Operand* b,
                                 std::uint64_t& sum) { return element(a, b, sum); });
}

/// Returns the scale of a run of a line, as an encoding; `one` where there are none.
inline std::uint32_t scale_at(const std::uint32_t* scales, std::size_t width, std::size_t run,
                              std::size_t line, std::uint32_t one) {
  return scales == nullptr ? one : scales[run * width + line];
}

/// Sums a tile of fused blocks all of whose products have the same scales (has_block_scales of
/// dot_blocks.h), of packed Factors.
void run_scaled_blocks(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left);

}  // namespace binade::fast
