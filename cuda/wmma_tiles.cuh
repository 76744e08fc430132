// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels that run tiles through wmma: a warp copies a, b and c into shared memory,
// a and c by rows and b by columns, loads the fragments, executes the instruction, stores d and
// copies it out. No assembly and no CUDA header is included here, so tests run it on the CPU with a
// stand-in for the instruction.
#pragma once

#include <type_traits>

#include "cuda/tiles.h"

namespace binade {

/// The registers of a lane. PTX does not specify which element lies where, so only wmma's own loads
/// and stores access them.
template <class Word>
struct WmmaFragments {
  Word a[8]{}, b[8]{}, c[8]{}, d[8]{};
};

/// The shape of an instruction and its sizes in bytes: of a row of a or a column of b, of an
/// element of c and of an element of d.
struct WmmaShape {
  int m = 0, n = 0, k = 0;
  int row_bytes = 0, bytes_c = 0, bytes_d = 0;
};

/// The unsigned integer of so many bytes.
template <int bytes>
using CodeOf = std::conditional_t<bytes == 2, std::uint16_t,
                                  std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>;

/// Runs the tile of a block, which is one warp. Ptx provides load_a, load_b, load_c, mma and
/// store_d on WmmaFragments<Word>, with leading dimensions in elements. Writes nothing if Ptx::mma
/// returns false; else counts the tile in tiles.done.
template <class Ptx, WmmaShape shape, class Word>
__device__ void run_wmma_tile(const Tiles& tiles) {
  using C = CodeOf<shape.bytes_c>;
  using D = CodeOf<shape.bytes_d>;
  constexpr int row_words = shape.row_bytes / 4;
  alignas(32) __shared__ std::uint32_t a[shape.m * row_words];
  alignas(32) __shared__ std::uint32_t b[shape.n * row_words];
  alignas(32) __shared__ C c[shape.m * shape.n];
  alignas(32) __shared__ D d[shape.m * shape.n];
  const CrossedRows start = start_of(tiles, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < shape.m * row_words; i += 32) {
    const unsigned char* row = row_of_a(tiles, start, i / row_words);
    a[i] = reinterpret_cast<const std::uint32_t*>(row)[i % row_words];
  }
  for (int i = lane; i < shape.n * row_words; i += 32) {
    const unsigned char* row = row_of_b(tiles, start, i / row_words);
    b[i] = reinterpret_cast<const std::uint32_t*>(row)[i % row_words];
  }
  for (int i = lane; i < shape.m * shape.n; i += 32) {
    c[i] = static_cast<C>(c_of(tiles, start, i / shape.n, i % shape.n));
  }
  __syncwarp();
  WmmaFragments<Word> x;
  Ptx::load_a(x, a, shape.k);
  Ptx::load_b(x, b, shape.k);
  Ptx::load_c(x, c, shape.n);
  const bool ran = Ptx::mma(x);
  Ptx::store_d(x, d, shape.n);
  __syncwarp();
  if (!ran) return;
  for (int i = lane; i < shape.m * shape.n; i += 32) {
    d_of(tiles, blockIdx.x, i / shape.n, i % shape.n) = d[i];
  }
  if (lane == 0) atomicAdd(tiles.done, 1ULL);
}

}  // namespace binade
