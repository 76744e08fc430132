// SPDX-License-Identifier: Apache-2.0
//
// The body of a matrix product by mma.sync instructions of m16n8 whose k is 32 bytes. K ascends in
// steps of one instruction and the sums stay in registers, so each element is the chain of that
// instruction. `mma(registers)` executes the instruction: from a lane's registers it reads a, b and
// c and writes d.
#pragma once

#include <cstdint>

#include "cuda/mma_lanes.h"

namespace binade {

inline constexpr int gemm_tile = 128;     ///< rows and columns that a block of threads computes
inline constexpr int gemm_threads = 256;  ///< threads in a block: 2 × 4 warps of 64 × 32 elements
inline constexpr int gemm_step = 8;       ///< words of 32 bits of a row that one instruction takes
inline constexpr int gemm_stage = 32;     ///< words of a row that lie in shared memory at a time

/// Arguments of one product. a has m rows and b has n columns of `words` words each: elements
/// packed as in registers, filled up with zeros to a multiple of gemm_step words, and aligned to 16
/// bytes. c and d are m × n, row after row, one encoding in a word. All are in the device's memory,
/// which the caller owns.
struct GemmCall {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* c = nullptr;
  std::uint32_t* d = nullptr;
  int m = 0, n = 0, words = 0;
};

namespace detail {

/// The number of quads (16 bytes, four words) that a thread loads for each stage.
inline constexpr int gemm_loads = 2 * gemm_tile * gemm_stage / 4 / gemm_threads;

/// A quad of a stage: its first word and its row. Rows below gemm_tile are rows of a's tile; rows
/// from gemm_tile on are columns of b's tile.
struct GemmQuad {
  int row = 0, word = 0;
};
/// Returns the i-th quad that this thread loads.
__device__ inline GemmQuad gemm_quad(int i) {
  const int at = static_cast<int>(threadIdx.x) + i * gemm_threads;
  return {at / (gemm_stage / 4), at % (gemm_stage / 4) * 4};
}

/// Returns a quad of the stage that begins at word `stage`, or zeros outside of the matrices.
__device__ inline uint4 load_quad(const GemmCall& call, int first_row, int first_column, int stage,
                                  const GemmQuad& quad) {
  const bool of_a = quad.row < gemm_tile;
  const int row = of_a ? first_row + quad.row : first_column + quad.row - gemm_tile;
  const int word = stage + quad.word;
  if (row >= (of_a ? call.m : call.n) || word >= call.words) return {0, 0, 0, 0};
  const std::uint32_t* from = of_a ? call.a : call.b;
  return *reinterpret_cast<const uint4*>(from + static_cast<long long>(row) * call.words + word);
}

}  // namespace detail

/// Computes one tile of d, whose column and row are blockIdx.x and .y. `f16` says that c and d are
/// f16, two elements to a register; else they are f32. Registers is the type of a lane's registers.
template <class Registers, bool f16, class Mma>
__device__ void gemm_body(const GemmCall& call, const Mma& mma) {
  constexpr int pitch = gemm_stage + 4;  // so the 32 lanes of a fragment read 32 different banks
  __shared__ uint4 shared[2 * gemm_tile][pitch / 4];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_row = static_cast<int>(blockIdx.y) * gemm_tile;
  const int first_column = static_cast<int>(blockIdx.x) * gemm_tile;
  const int warp_row = warp % 2 * 64;
  const int warp_column = warp / 2 * 32;
  constexpr int registers = f16 ? 2 : 4;
  constexpr int elements = f16 ? 2 : 1;  // in a register of c
  std::uint32_t sums[4][4][registers];
  // Calls f(register, element of the register, whether it lies inside of d, index in d) for each
  // element of this thread.
  const auto each = [&](const auto& f) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int reg = 0; reg < registers; ++reg) {
          for (int element = 0; element < elements; ++element) {
            const Place place = place_of_c(lane, reg, element, elements);
            const int row = first_row + warp_row + 16 * i + place.row;
            const int column = first_column + warp_column + 8 * j + place.column;
            const bool inside = row < call.m && column < call.n;
            f(sums[i][j][reg], element, inside, static_cast<long long>(row) * call.n + column);
          }
        }
      }
    }
  };
  each([&](std::uint32_t& sum, int element, bool inside, long long at) {
    if (element == 0) sum = 0;
    if (inside) sum |= call.c[at] << (16 * element);
  });
  uint4 next[detail::gemm_loads];
  const auto load = [&](int stage) {
    for (int i = 0; i < detail::gemm_loads; ++i) {
      next[i] = detail::load_quad(call, first_row, first_column, stage, detail::gemm_quad(i));
    }
  };
  const auto word = [&](int row, int at) {
    return reinterpret_cast<const std::uint32_t*>(shared[row])[at];
  };
  load(0);
  for (int stage = 0; stage < call.words; stage += gemm_stage) {
    __syncthreads();
    for (int i = 0; i < detail::gemm_loads; ++i) {
      const detail::GemmQuad quad = detail::gemm_quad(i);
      shared[quad.row][quad.word / 4] = next[i];
    }
    __syncthreads();
    load(stage + gemm_stage);
    for (int step = 0; step < gemm_stage && stage + step < call.words; step += gemm_step) {
      Registers x[4];  // the four fragments of a; each in turn takes each of the four of b
      std::uint32_t b[4][2];
      for (int i = 0; i < 4; ++i) {
        for (int reg = 0; reg < 4; ++reg) {
          const Place place = place_of_a(lane, reg, 0, 1);
          x[i].a[reg] = word(warp_row + 16 * i + place.row, step + place.column);
        }
        for (int reg = 0; reg < 2; ++reg) {
          const Place place = place_of_b(lane, reg, 0, 1);
          b[i][reg] = word(gemm_tile + warp_column + 8 * i + place.column, step + place.row);
        }
      }
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          for (int reg = 0; reg < 2; ++reg) x[i].b[reg] = b[j][reg];
          for (int reg = 0; reg < registers; ++reg) x[i].c[reg] = sums[i][j][reg];
          mma(x[i]);
          for (int reg = 0; reg < registers; ++reg) sums[i][j][reg] = x[i].d[reg];
        }
      }
    }
  }
  each([&](std::uint32_t& sum, int element, bool inside, long long at) {
    if (inside) call.d[at] = f16 ? sum >> (16 * element) & 0xFFFF : sum;
  });
}

}  // namespace binade
