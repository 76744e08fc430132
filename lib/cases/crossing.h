// SPDX-License-Identifier: Apache-2.0
//
// Many dot products of few rows: whole tiles of an instruction, rows of a crossed with rows of b and
// with elements of c from a pool. Every element of a tile is compared, so an element that depended on
// another's operands would show. Pure functions of integers, the same on a device.
#pragma once

#include <cstdint>

#include "emulate/philox.h"

namespace binade {

/// Tiles first … first + tiles - 1 of `m` × `n` dots, over a pool of `rows` rows.
struct Crossing {
  std::uint64_t seed = 1;
  std::uint64_t first = 0, tiles = 0;
  std::uint32_t rows = 0;
  int m = 0, n = 0;
};

/// Rows of the pool.
struct CrossedRows {
  std::uint32_t a = 0, b = 0, c = 0;

  friend constexpr bool operator==(const CrossedRows&, const CrossedRows&) = default;
};

/// Where a tile's rows begin; the tile takes consecutive ones, the last followed by the first.
constexpr CrossedRows start_of_tile(const Crossing& x, std::uint64_t tile) {
  const auto word = philox4x32(
      {static_cast<std::uint32_t>(tile), static_cast<std::uint32_t>(tile >> 32), 0xC705, 0},
      {static_cast<std::uint32_t>(x.seed), static_cast<std::uint32_t>(x.seed >> 32)});
  return {word[0] % x.rows, word[1] % x.rows, word[2] % x.rows};
}

/// The rows that element (i, j) of a tile is made of.
constexpr CrossedRows crossed_rows(const Crossing& x, const CrossedRows& start, int i, int j) {
  const auto row = static_cast<std::uint32_t>(i);
  const auto column = static_cast<std::uint32_t>(j);
  return {(start.a + row) % x.rows, (start.b + column) % x.rows,
          (start.c + row * static_cast<std::uint32_t>(x.n) + column) % x.rows};
}

/// Sums and a minimum of integers: any split over tiles and threads gives the same. Element (i, j) of
/// tile t is dot t·m·n + i·n + j.
struct CrossTally {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t dots = 0, different = 0;
  std::uint64_t lowest = none;  ///< the first dot that differs

  friend constexpr bool operator==(const CrossTally&, const CrossTally&) = default;

  constexpr void merge(const CrossTally& other) {
    dots += other.dots;
    different += other.different;
    lowest = other.lowest < lowest ? other.lowest : lowest;
  }
};

}  // namespace binade
