// SPDX-License-Identifier: Apache-2.0
//
// Tiles: an instruction's matrices made of rows of a pool, and where its elements go. A kernel gets a
// `Tiles` by value, runs one tile a warp (or warp group) and writes every element of d; comparing is
// another kernel's work, so that the emulator is compiled once and not once for each instruction.
#pragma once

#include <cstdint>

#include "lib/cases/crossing.h"

namespace binade {

/// A pool of rows and the tiles of it to run: crossing.first … crossing.first + crossing.tiles - 1.
struct Tiles {
  const unsigned char* a = nullptr;  ///< rows of `row_bytes`, elements as they lie in registers
  const unsigned char* b = nullptr;
  const std::uint64_t* c = nullptr;    ///< one encoding a row
  std::uint64_t* d = nullptr;          ///< m · n encodings of each tile, by rows
  unsigned long long* done = nullptr;  ///< counts the tiles that an instruction ran
  Crossing crossing{};
  /// Of sparse instructions a's rows hold what is kept of it, and these the positions: 4 bits for
  /// each group, the lowest group first.
  const std::uint64_t* kept = nullptr;
  int row_bytes_a = 0, row_bytes_b = 0;
  /// Tile t takes rows t·s, t·s + 1, … of a, b and c alike, s the smaller of m and n: its element
  /// (i, i) is dot t·s + i of the pool. Else rows are those of crossing.h.
  bool diagonal = false;
};

/// Where tile number crossing.first + `local` begins.
constexpr CrossedRows start_of(const Tiles& x, std::uint64_t local) {
  const std::uint64_t tile = x.crossing.first + local;
  if (!x.diagonal) return start_of_tile(x.crossing, tile);
  const int side = x.crossing.m < x.crossing.n ? x.crossing.m : x.crossing.n;
  const auto row =
      static_cast<std::uint32_t>(tile * static_cast<std::uint64_t>(side) % x.crossing.rows);
  return {row, row, row};
}

/// The rows that element (i, j) is made of.
constexpr CrossedRows crossed_rows(const Tiles& x, const CrossedRows& start, int i, int j) {
  CrossedRows rows = crossed_rows(x.crossing, start, i, j);
  if (x.diagonal) rows.c = rows.a;
  return rows;
}

constexpr std::uint64_t c_of(const Tiles& x, const CrossedRows& start, int i, int j) {
  return x.c[crossed_rows(x, start, i, j).c];
}
constexpr const unsigned char* row_of_a(const Tiles& x, const CrossedRows& start, int i) {
  return x.a + static_cast<std::uint64_t>(crossed_rows(x, start, i, 0).a) *
                   static_cast<std::uint64_t>(x.row_bytes_a);
}
constexpr const unsigned char* row_of_b(const Tiles& x, const CrossedRows& start, int j) {
  return x.b + static_cast<std::uint64_t>(crossed_rows(x, start, 0, j).b) *
                   static_cast<std::uint64_t>(x.row_bytes_b);
}

/// The positions kept in a group of row i of a.
constexpr std::uint32_t kept_of(const Tiles& x, const CrossedRows& start, int i, int group) {
  return static_cast<std::uint32_t>(x.kept[crossed_rows(x, start, i, 0).a] >> (4 * group)) & 0xF;
}

/// Element (i, j) of a tile.
constexpr std::uint64_t& d_of(const Tiles& x, std::uint64_t local, int i, int j) {
  const auto m = static_cast<std::uint64_t>(x.crossing.m);
  const auto n = static_cast<std::uint64_t>(x.crossing.n);
  return x.d[(local * m + static_cast<std::uint64_t>(i)) * n + static_cast<std::uint64_t>(j)];
}

}  // namespace binade
