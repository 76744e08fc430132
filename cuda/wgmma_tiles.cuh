// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels that run tiles through wgmma: a warp group copies a and b into shared
// memory and c into registers, executes the instruction and writes d. No assembly and no CUDA
// header is included here, so tests run it on the CPU with a stand-in for the instruction.
#pragma once

#include "cuda/mma_tiles.cuh"
#include "cuda/wgmma_layout.h"

namespace binade {

/// The operands of one thread of a warp group.
struct WgmmaOperands {
  std::uint32_t d[4]{};        ///< holds c before the instruction and d after it
  std::uint64_t a = 0, b = 0;  ///< descriptors of matrices in shared memory
  std::uint32_t metadata = 0;  ///< read by sparse instructions only
};

/// Writes `rows` rows of `row_bytes` bytes to shared memory, arranged in core matrices
/// (wgmma_layout.h). word(row, at) returns word number `at`, of 32 bits, of a row.
template <int rows, int row_bytes, class Word>
__device__ void stage_core_matrices(unsigned char* shared, Word word) {
  constexpr int row_words = row_bytes / 4;
  for (int i = static_cast<int>(threadIdx.x); i < rows * row_words; i += wgmma_threads) {
    const int offset = core_offset(i / row_words, i % row_words * 4, row_bytes);
    *reinterpret_cast<std::uint32_t*>(shared + offset) = word(i / row_words, i % row_words);
  }
}

/// Loads c into `registers` registers with `per` elements each, executes the instruction between
/// its fences, writes d and counts the tile in tiles.done. Writes nothing if the instruction
/// returns false.
template <class Ptx, int registers, int per, class Instruction>
__device__ void finish_wgmma_tile(const Tiles& tiles, const CrossedRows& start, WgmmaOperands& x,
                                  Instruction instruction) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int reg = 0; reg < registers; ++reg) {
    for (int element = 0; element < per; ++element) {
      const Place place = place_of_wgmma_c(thread, reg, element, per);
      const std::uint64_t c = c_of(tiles, start, place.row, place.column);
      x.d[reg] |= static_cast<std::uint32_t>(c) << (16 * element);
    }
  }
  Ptx::fence_proxy_async();  // each thread's own stores, before the barrier
  __syncthreads();
  Ptx::wgmma_fence(x);
  const bool ran = instruction(x);
  Ptx::wgmma_commit_group();
  Ptx::wgmma_wait_group(x);
  if (!ran) return;
  for (int reg = 0; reg < registers; ++reg) {
    for (int element = 0; element < per; ++element) {
      const Place place = place_of_wgmma_c(thread, reg, element, per);
      d_of(tiles, blockIdx.x, place.row, place.column) =
          per == 1 ? x.d[reg] : x.d[reg] >> (16 * element) & 0xFFFF;
    }
  }
  if (thread == 0) atomicAdd(tiles.done, 1ULL);
}

/// Runs the tile of a block, which is one warp group. `groups` is the number of groups in a row of
/// a sparse instruction's a; 0 means dense. A row of a, of its kept elements if sparse, has 32
/// bytes; a column of b has 32 if dense, else 64.
template <class Ptx, int registers, int per, int groups = 0, class Instruction>
__device__ void run_wgmma_tile(const Tiles& tiles, Instruction instruction) {
  constexpr int a_bytes = 32;
  constexpr int b_bytes = groups == 0 ? 32 : 64;
  alignas(128) __shared__ unsigned char a[wgmma_m * a_bytes];
  alignas(128) __shared__ unsigned char b[wgmma_n * b_bytes];
  const CrossedRows start = start_of(tiles, blockIdx.x);
  stage_core_matrices<wgmma_m, a_bytes>(
      a, [&](int row, int at) { return unit_at<std::uint32_t>(row_of_a(tiles, start, row), at); });
  stage_core_matrices<wgmma_n, b_bytes>(
      b, [&](int row, int at) { return unit_at<std::uint32_t>(row_of_b(tiles, start, row), at); });
  WgmmaOperands x;
  x.a = wgmma_descriptor(Ptx::shared_address(a), a_bytes);
  x.b = wgmma_descriptor(Ptx::shared_address(b), b_bytes);
  if constexpr (groups != 0) {
    x.metadata = metadata_of(tiles, start, [](int nibble) {
      return place_of_wgmma_metadata(static_cast<int>(threadIdx.x), nibble, groups);
    });
  }
  finish_wgmma_tile<Ptx, registers, per>(tiles, start, x, instruction);
}

}  // namespace binade
