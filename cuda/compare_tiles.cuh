// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernel that compares every element of tiles with the emulator, on all threads. No
// assembly and no CUDA header is included here, so tests run it on the CPU.
#pragma once

#include "cuda/comparison.h"
#include "cuda/shared_dot.cuh"

namespace binade {

/// Returns the emulator's d of row rows.a of a, row rows.b of b and element rows.c of c of the pool
/// (lib/cases/crossing.h).
__device__ inline std::uint64_t emulated_dot(const Comparison& x, const CrossedRows& rows) {
  const auto k = static_cast<std::uint64_t>(x.k);
  const std::uint64_t c = x.tiles.c[rows.c];
  std::uint64_t d = 0;
  const bool quick = x.factors_a != nullptr && x.finite_a[rows.a] != 0 && x.finite_b[rows.b] != 0 &&
                     fast::dot_predecoded(x.model, x.types, x.factors_a + rows.a * k,
                                          x.factors_b + rows.b * k, x.k, c, d);
  if (quick) return d;
  DotScales scales;
  if (x.tiles.scales_a != nullptr) {
    // the bytes of words of a little-endian machine, the lowest first
    scales.a = reinterpret_cast<const std::uint8_t*>(x.tiles.scales_a + rows.a);
    scales.b = reinterpret_cast<const std::uint8_t*>(x.tiles.scales_b + rows.b);
  }
  return shared_dot(x.model, x.types, x.a + rows.a * k, x.b + rows.b * k, x.k, c, scales);
}

/// Returns the address of x as CUDA's 64-bit atomics take it, which is `unsigned long long*` only.
__device__ inline unsigned long long* atomic(std::uint64_t& x) {
  static_assert(sizeof(x) == sizeof(unsigned long long));
  return reinterpret_cast<unsigned long long*>(&x);
}

/// Compares elements t, t + step, … of the tiles in thread t of `step`, adds the counts to x.total
/// and lowers x.total->lowest to the number of the first dot product that differs.
__device__ inline void compare_tiles(const Comparison& x) {
  const Crossing& crossing = x.tiles.crossing;
  const auto n = static_cast<std::uint64_t>(crossing.n);
  const std::uint64_t of_tile = static_cast<std::uint64_t>(crossing.m) * n;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  CrossTally tally;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < crossing.tiles * of_tile; i += step) {
    const CrossedRows start = start_of(x.tiles, i / of_tile);
    const auto element = static_cast<int>(i % of_tile);
    const CrossedRows rows =
        crossed_rows(x.tiles, start, element / crossing.n, element % crossing.n);
    tally.dots += 1;
    if (x.tiles.d[i] == emulated_dot(x, rows)) continue;
    tally.different += 1;
    const std::uint64_t dot_number = crossing.first * of_tile + i;
    tally.lowest = dot_number < tally.lowest ? dot_number : tally.lowest;
  }
  atomicAdd(atomic(x.total->dots), static_cast<unsigned long long>(tally.dots));
  if (tally.different == 0) return;
  atomicAdd(atomic(x.total->different), static_cast<unsigned long long>(tally.different));
  atomicMin(atomic(x.total->lowest), static_cast<unsigned long long>(tally.lowest));
}

}  // namespace binade
