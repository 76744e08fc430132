// SPDX-License-Identifier: Apache-2.0
//
// In which order the scales of a matrix lie in memory: `rows` along M (or N), `columns` along K,
// one for each block. Every layout is a place for each scale, and a size; what has no scale is 0.
//
//     row_major    r · columns + c
//     128x4        tiles of 128 rows by 4 columns, 512 bytes each, tiles along K first; in a tile
//                  rows r, r + 32, r + 64 and r + 96 lie beside each other, 4 columns of each
//     8x4          tiles of 8 rows by 4 columns, row after row (small M)
//     deepgemm     four columns of a row in 4 bytes, these along M; M is filled up to 4
//     aiter        tiles of 32 rows by 8 columns, 256 bytes each; M is filled up to 256
//     te           r · columns + c, filled up to 128 rows and 4 columns
//     te_2d        of tiles of 128 × 128 in binary32: r · columns + c, filled up to 4 columns
//     te_1d        of rows of 128 in binary32: columns of rows, filled up to 4 rows
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulate/block.h"

namespace binade {

/// Scales of a matrix: how many along M and along K.
struct ScaleGrid {
  std::size_t rows = 1, columns = 1;
};

struct ScaleLayout {
  std::string_view name;
  /// The grid with what fills it up; a layout has rows · columns of these places.
  ScaleGrid (*filled)(ScaleGrid grid);
  /// The place of a scale, in units of scales, in the layout of a grid.
  std::size_t (*place)(ScaleGrid filled, std::size_t row, std::size_t column);
  std::string_view source;
  /// Whether it is an order of the scales of a format.
  bool (*is_of)(const BlockFormat& format);
  bool columns_first = false;  ///< the array of a file has columns times rows
  /// How many scales of a row are a number of a file: 4 of one byte are an int32.
  std::size_t word = 1;

  /// Returns the shape of the array of a file.
  std::vector<std::uint64_t> shape(ScaleGrid grid) const {
    const ScaleGrid all = filled(grid);
    if (columns_first) return {all.columns / word, all.rows};
    return {all.rows, all.columns / word};
  }
};

extern const std::span<const ScaleLayout> scale_layouts;

/// Returns the layout of a name, or null.
const ScaleLayout* find_scale_layout(std::string_view name);

/// Returns scales, given row by row, in a layout.
template <class Scale>
std::vector<Scale> laid_out(const ScaleLayout& layout, ScaleGrid grid, std::span<const Scale> in) {
  const ScaleGrid filled = layout.filled(grid);
  std::vector<Scale> out(filled.rows * filled.columns);
  for (std::size_t r = 0; r < grid.rows; ++r) {
    for (std::size_t c = 0; c < grid.columns; ++c) {
      out[layout.place(filled, r, c)] = in[r * grid.columns + c];
    }
  }
  return out;
}

/// Returns the scales of a layout row by row: laid_out()'s inverse.
template <class Scale>
std::vector<Scale> row_by_row(const ScaleLayout& layout, ScaleGrid grid,
                              std::span<const Scale> in) {
  const ScaleGrid filled = layout.filled(grid);
  std::vector<Scale> out(grid.rows * grid.columns);
  for (std::size_t r = 0; r < grid.rows; ++r) {
    for (std::size_t c = 0; c < grid.columns; ++c) {
      out[r * grid.columns + c] = in[layout.place(filled, r, c)];
    }
  }
  return out;
}

}  // namespace binade
