// SPDX-License-Identifier: Apache-2.0
//
// Tiles: the matrices of one instruction each, made of rows of a pool, and the memory for their d.
// A kernel takes a `Tiles` by value, runs one tile in each warp (or warp group, or quadpair) and
// writes every element of d. Another kernel compares d with the emulator, so that nvcc compiles the
// emulator once and not once for each instruction.
#pragma once

#include <cstdint>

#include "lib/cases/crossing.h"

namespace binade {

/// A pool of crossing.rows rows and the tiles of it to run, whose numbers are crossing.first …
/// crossing.first + crossing.tiles - 1. All pointers are to the device's memory, which the caller
/// owns.
struct Tiles {
  const unsigned char* a = nullptr;    ///< rows of `row_bytes_a`, elements as they lie in registers
  const unsigned char* b = nullptr;    ///< rows of `row_bytes_b`; a row becomes a column of b
  const std::uint64_t* c = nullptr;    ///< one encoding per row
  std::uint64_t* d = nullptr;          ///< m · n encodings per tile, row after row
  unsigned long long* done = nullptr;  ///< each tile that was run adds 1
  Crossing crossing{};
  /// For sparse instructions, whose rows of a hold the kept elements only: the kept positions, a
  /// word per row with 4 bits per group, the first group in the lowest bits. Not read for dense
  /// ones.
  const std::uint64_t* kept = nullptr;
  int row_bytes_a = 0, row_bytes_b = 0;
  /// For instructions with scales of blocks: a word per row, its scales in the order of k from the
  /// lowest byte on. Not read for others.
  const std::uint32_t* scales_a = nullptr;
  const std::uint32_t* scales_b = nullptr;
  /// True: tile t takes rows t·s, t·s + 1, … of a, b and c, where s is the smaller of m and n, so
  /// that its element (i, i) is dot product t·s + i of the pool. False: the rows are those of
  /// crossing.h.
  bool diagonal = false;
};

/// Returns the rows of the pool at which tile number crossing.first + `local` begins.
constexpr CrossedRows start_of(const Tiles& x, std::uint64_t local) {
  const std::uint64_t tile = x.crossing.first + local;
  if (!x.diagonal) return start_of_tile(x.crossing, tile);
  const int side = x.crossing.m < x.crossing.n ? x.crossing.m : x.crossing.n;
  const auto row =
      static_cast<std::uint32_t>(tile * static_cast<std::uint64_t>(side) % x.crossing.rows);
  return {row, row, row};
}

/// Returns the rows of the pool that give element (i, j) of the tile that begins at `start`.
constexpr CrossedRows crossed_rows(const Tiles& x, const CrossedRows& start, int i, int j) {
  CrossedRows rows = crossed_rows(x.crossing, start, i, j);
  if (x.diagonal) rows.c = rows.a;
  return rows;
}

/// Returns the encoding of element (i, j) of c.
constexpr std::uint64_t c_of(const Tiles& x, const CrossedRows& start, int i, int j) {
  return x.c[crossed_rows(x, start, i, j).c];
}
/// Returns the address of row i of a.
constexpr const unsigned char* row_of_a(const Tiles& x, const CrossedRows& start, int i) {
  return x.a + static_cast<std::uint64_t>(crossed_rows(x, start, i, 0).a) *
                   static_cast<std::uint64_t>(x.row_bytes_a);
}
/// Returns the address of column j of b.
constexpr const unsigned char* row_of_b(const Tiles& x, const CrossedRows& start, int j) {
  return x.b + static_cast<std::uint64_t>(crossed_rows(x, start, 0, j).b) *
                   static_cast<std::uint64_t>(x.row_bytes_b);
}

/// Returns the 4 bits that say which positions are kept in a group of row i of a.
constexpr std::uint32_t kept_of(const Tiles& x, const CrossedRows& start, int i, int group) {
  return static_cast<std::uint32_t>(x.kept[crossed_rows(x, start, i, 0).a] >> (4 * group)) & 0xF;
}

/// Returns the words with the scales of row i of a, and of column j of b.
constexpr std::uint32_t scales_of_a(const Tiles& x, const CrossedRows& start, int i) {
  return x.scales_a[crossed_rows(x, start, i, 0).a];
}
constexpr std::uint32_t scales_of_b(const Tiles& x, const CrossedRows& start, int j) {
  return x.scales_b[crossed_rows(x, start, 0, j).b];
}

/// Returns element (i, j) of d of tile number crossing.first + `local`.
constexpr std::uint64_t& d_of(const Tiles& x, std::uint64_t local, int i, int j) {
  const auto m = static_cast<std::uint64_t>(x.crossing.m);
  const auto n = static_cast<std::uint64_t>(x.crossing.n);
  return x.d[(local * m + static_cast<std::uint64_t>(i)) * n + static_cast<std::uint64_t>(j)];
}

}  // namespace binade
