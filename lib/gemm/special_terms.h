// SPDX-License-Identifier: Apache-2.0
//
// What infinities and NaNs among the operands make of a tile's sums, whatever the order of the additions: a NaN where a
// product is one, or where infinities of both signs meet; else the infinity. Only a sum that overflows without them may
// depend on the order: where its infinity is of the other sign, or two of its parts made a NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/kernels.h"

namespace binade {

constexpr bool is_special(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7F800000) == 0x7F800000;
}
inline bool any_special(const float* x, std::size_t n) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFF;
    largest = largest > magnitude ? largest : magnitude;
  }
  return largest >= 0x7F800000;
}

/// Elements by what their products are: bit j of word i.
struct TileSpecials {
  TileMask nan{}, positive{}, negative{};

  /// A product, one of whose operands is special.
  void add(std::size_t i, std::size_t j, float a, float b) {
    const std::uint32_t bit = std::uint32_t{1} << j;
    // Of bits: whoever flushes subnormals has no zeros more.
    const auto is_zero = [](float x) {
      return (std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF) == 0;
    };
    if (std::isnan(a) || std::isnan(b) || is_zero(a) || is_zero(b)) {
      nan[i] |= bit;
    } else {
      (std::signbit(a) == std::signbit(b) ? positive : negative)[i] |= bit;
    }
  }
  std::uint32_t any(std::size_t i) const { return nan[i] | positive[i] | negative[i]; }
  /// Those of a row that nothing more can change.
  std::uint32_t settled(std::size_t i) const { return nan[i] | (positive[i] & negative[i]); }

  /// Of the tile's sums without them. Elements that depend on the order are set in `left`.
  void apply(TileValues& sums, TileMask& left) const {
    for (std::size_t i = 0; i < sums.rows.size(); ++i) {
      const std::uint32_t some = any(i);
      for (std::size_t j = 0; j < tile_columns && some >> j != 0; ++j) {
        if ((some >> j & 1) == 0) continue;
        float& sum = sums.rows[i][j];
        const bool is_negative = (negative[i] >> j & 1) != 0;
        if ((settled(i) >> j & 1) != 0) {
          sum = std::bit_cast<float>(std::uint32_t{0x7FFFFFFF});
        } else if (std::isnan(sum) || (is_special(sum) && std::signbit(sum) != is_negative)) {
          left[i] |= std::uint32_t{1} << j;
        } else {
          sum = std::bit_cast<float>(std::uint32_t{is_negative ? 0xFF800000 : 0x7F800000});
        }
      }
    }
  }
};

}  // namespace binade
