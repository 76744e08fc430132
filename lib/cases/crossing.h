// SPDX-License-Identifier: Apache-2.0
//
// Many dot products from few rows. A pool holds rows of a, rows of b and elements of c; a tile of
// an instruction takes some of each, and each of its rows of a meets each of its rows of b. Every
// element of a tile is compared, so an element that depended on another's operands would be found.
// All functions here are pure functions of integers and give the same on a GPU.
#pragma once

#include <cstdint>

#include "emulate/philox.h"

namespace binade {

/// The tiles first … first + tiles - 1, each of m × n dot products, whose operands come from a pool
/// of `rows` rows. `rows` must not be 0.
struct Crossing {
  std::uint64_t seed = 1;
  std::uint64_t first = 0, tiles = 0;
  std::uint32_t rows = 0;
  int m = 0, n = 0;
};

/// Row numbers in the pool, of a, b and c.
struct CrossedRows {
  std::uint32_t a = 0, b = 0, c = 0;

  friend constexpr bool operator==(const CrossedRows&, const CrossedRows&) = default;
};

/// Returns the row numbers at which a tile begins. A tile takes consecutive rows; row 0 follows the
/// last one.
constexpr CrossedRows start_of_tile(const Crossing& x, std::uint64_t tile) {
  const auto word = philox4x32(
      {static_cast<std::uint32_t>(tile), static_cast<std::uint32_t>(tile >> 32), 0xC705, 0},
      {static_cast<std::uint32_t>(x.seed), static_cast<std::uint32_t>(x.seed >> 32)});
  return {word[0] % x.rows, word[1] % x.rows, word[2] % x.rows};
}

/// Returns the rows of which element (i, j) of a tile is made; `start` is its start_of_tile.
constexpr CrossedRows crossed_rows(const Crossing& x, const CrossedRows& start, int i, int j) {
  const auto row = static_cast<std::uint32_t>(i);
  const auto column = static_cast<std::uint32_t>(j);
  return {(start.a + row) % x.rows, (start.b + column) % x.rows,
          (start.c + row * static_cast<std::uint32_t>(x.n) + column) % x.rows};
}

/// The outcome of comparing tiles with the emulator: sums and a minimum of integers, so that any
/// split over tiles and threads gives the same. Element (i, j) of tile t is dot product number
/// t·m·n + i·n + j.
struct CrossTally {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t dots = 0, different = 0;
  std::uint64_t lowest = none;  ///< lowest number of a dot product that differs

  friend constexpr bool operator==(const CrossTally&, const CrossTally&) = default;

  constexpr void merge(const CrossTally& other) {
    dots += other.dots;
    different += other.different;
    lowest = other.lowest < lowest ? other.lowest : lowest;
  }
};

}  // namespace binade
