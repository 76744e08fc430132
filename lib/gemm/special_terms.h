// SPDX-License-Identifier: Apache-2.0
//
// What infinities and NaNs among the operands make of a tile's sums, in any order of the additions:
// the sum is a NaN if a product is a NaN or if infinities of both signs meet, and else the
// infinity. Only if the sum of the other products overflows may the result depend on the order: if
// that sum is an infinity of the other sign, or a NaN because two of its parts overflowed.
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

/// Sets of elements of a tile, by what their products are: bit j of word i stands for row i, column
/// j.
struct TileSpecials {
  TileMask nan{}, positive{}, negative{};

  /// Adds a product a·b of element (i, j), of which at least one operand is an infinity or a NaN.
  void add(std::size_t i, std::size_t j, float a, float b) {
    const std::uint32_t bit = std::uint32_t{1} << j;
    // Bits are compared, since a comparison of floats takes subnormals for zeros where they are
    // flushed.
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
  /// Returns the elements of row i that are NaNs whatever else is added.
  std::uint32_t settled(std::size_t i) const { return nan[i] | (positive[i] & negative[i]); }

  /// Replaces the tile's sums, made without these products, by the sums with them. Elements that
  /// depend on the order are set in `left`.
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
