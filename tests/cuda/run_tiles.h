// SPDX-License-Identifier: Apache-2.0
//
// Runs a tile kernel on the CPU on a pool with rows of every generator, crossed and along the
// diagonal, and compares each element with the emulator's.
#pragma once

#include "tests/cuda/simt.h"
// simt.h comes first because it defines CUDA's keywords.
#include <doctest/doctest.h>

#include <set>

#include "cuda/compare_tiles.cuh"
#include "cuda/pool.h"
#include "lib/cases/dot_cases.h"
#include "lib/instruction/instruction_name.h"

namespace binade::test {

inline constexpr std::uint32_t pool_rows = 37;

/// Returns pool_rows rows, some of each generator that suits the types.
inline Dots mixed_rows(const Instruction& how) {
  Dots pool;
  for (std::uint64_t seed = 11; pool.c.size() < pool_rows; ++seed) {
    for (const DotGenerator& generator : dot_generators()) {
      const std::uint64_t most = std::min<std::uint64_t>(pool_rows - pool.c.size(), 7);
      if (!generator.suits(how) || most == 0) continue;
      append(pool, make_dots(generator, how, seed, 0, std::min(most, full_rows(generator, how))));
    }
  }
  return pool;
}

/// Returns the emulator's d of three rows of a pool.
inline std::uint64_t emulated(const Instruction& how, const Dots& pool, const CrossedRows& rows) {
  return dot_of_row(how, operands_of_rows(pool, rows.a, rows.b, rows.c));
}

/// The tiles that a kernel ran, their d, and how many tiles it counted as done.
struct TileRun {
  Tiles tiles;
  std::vector<std::uint64_t> d;
  unsigned long long done = 0;
};

/// A kernel, and the threads and tiles of a block.
struct Launch {
  void (*kernel)(Tiles);
  unsigned threads = 32;
  unsigned tiles = 1;
};

/// Runs the tiles of a crossing; elements of d that the kernel does not write are 0xBAD.
inline TileRun run_tiles(const Launch& launch, const Dots& pool, const PackedPool& packed,
                         const Crossing& crossing, bool diagonal) {
  TileRun out;
  out.d.assign(crossing.tiles * static_cast<std::size_t>(crossing.m * crossing.n), 0xBAD);
  out.tiles = {packed.a.data(),
               packed.b.data(),
               pool.c.data(),
               out.d.data(),
               &out.done,
               crossing,
               packed.kept.data(),
               packed.row_bytes_a,
               packed.row_bytes_b,
               packed.scales_a.data(),
               packed.scales_b.data(),
               diagonal};
  const auto blocks = static_cast<unsigned>((crossing.tiles + launch.tiles - 1) / launch.tiles);
  simt::launch({blocks}, {launch.threads}, launch.kernel, out.tiles);
  return out;
}

/// Checks crossed tiles and tiles along the diagonal. Returns how many different values d took in
/// the crossed ones, since a test whose results are all equal proves little.
inline std::size_t check_tiles(const Instruction& how, const Launch& launch, int m, int n) {
  const std::string name = instruction_name(how);
  CAPTURE(name);
  const Dots pool = mixed_rows(how);
  const PackedPool packed = packed_pool(how, pool);
  const auto rows = static_cast<std::uint32_t>(pool.c.size());
  REQUIRE(rows == pool_rows);
  Crossing crossing{.seed = 5, .first = 3, .tiles = 3, .rows = rows, .m = m, .n = n};
  const TileRun run = run_tiles(launch, pool, packed, crossing, false);
  CHECK(run.done == crossing.tiles);
  std::size_t different = 0;
  for (std::size_t i = 0; i < run.d.size(); ++i) {
    const auto of_tile = static_cast<std::size_t>(m * n);
    const CrossedRows start = start_of_tile(crossing, crossing.first + i / of_tile);
    const auto element = static_cast<int>(i % of_tile);
    const CrossedRows its = crossed_rows(crossing, start, element / n, element % n);
    different += run.d[i] != emulated(how, pool, its) ? 1 : 0;
  }
  CHECK(different == 0);

  const auto side = static_cast<std::uint64_t>(std::min(m, n));
  crossing.first = 0;
  crossing.tiles = (rows + side - 1) / side;
  const TileRun along = run_tiles(launch, pool, packed, crossing, true);
  CHECK(along.done == crossing.tiles);
  different = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    const auto at = static_cast<int>(i % side);
    different += d_of(along.tiles, i / side, at, at) != emulated(how, pool, {i, i, i}) ? 1 : 0;
  }
  CHECK(different == 0);
  return std::set<std::uint64_t>(run.d.begin(), run.d.end()).size();
}

/// Returns the instruction of a kernel's row on the first architecture from sm_80 on that has it.
/// Throws std::logic_error if none has.
inline Instruction instruction_of(Family family, int m, int n, int k, const DotTypes& types,
                                  ScaledKind kind = ScaledKind::none) {
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    if (sm < 80) continue;
    if (const auto how = find_instruction(family, sm, m, n, k, types, kind)) return *how;
  }
  throw std::logic_error("no architecture has the instruction of a kernel");
}

}  // namespace binade::test
