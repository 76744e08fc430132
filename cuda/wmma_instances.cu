// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles through wmma, one for each row of BINADE_WMMA_TABLE. This file only
// instantiates them: their body is run_wmma_tile in wmma_tiles.cuh, the tables and the PTX are in
// ptx_wmma.cuh.
#include "cuda/ptx_wmma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

// Formats by PTX's names of types, which the macros below paste.
constexpr Format format_f16 = binary16, format_bf16 = bfloat16, format_tf32 = tf32,
                 format_f32 = binary32, format_f64 = binary64;

#define BINADE_WMMA_KERNEL(name, word, shape, m, n, k, ab, tc, td, ...)                      \
  struct ptx_##name {                                                                        \
    using Fragments = WmmaFragments<word>;                                                   \
    static __device__ void load_a(Fragments& x, const void* from, int leading) {             \
      wmma_load_a_##shape##_##ab(x, from, leading);                                          \
    }                                                                                        \
    static __device__ void load_b(Fragments& x, const void* from, int leading) {             \
      wmma_load_b_##shape##_##ab(x, from, leading);                                          \
    }                                                                                        \
    static __device__ void load_c(Fragments& x, const void* from, int leading) {             \
      wmma_load_c_##shape##_##tc(x, from, leading);                                          \
    }                                                                                        \
    static __device__ bool mma(Fragments& x) { return name(x); }                             \
    static __device__ void store_d(const Fragments& x, void* to, int leading) {              \
      wmma_store_d_##shape##_##td(x, to, leading);                                           \
    }                                                                                        \
  };                                                                                         \
  __global__ void kernel_##name(Tiles tiles) {                                               \
    constexpr int row_bytes = k * format_##ab.storage_bits() / 8;                            \
    constexpr WmmaShape the_shape{                                                           \
        m, n, k, row_bytes, format_##tc.storage_bits() / 8, format_##td.storage_bits() / 8}; \
    run_wmma_tile<ptx_##name, the_shape, word>(tiles);                                       \
  }
BINADE_WMMA_TABLE(BINADE_WMMA_KERNEL)

#define BINADE_WMMA_ROW(name, word, shape, m, n, k, ab, tc, td, nd, na, nb, nc, variant, text)  \
  {Family::wmma,  m,     n,   k, {format_##ab, format_##ab, format_##tc, format_##td}, variant, \
   kernel_##name, #name, "80"},
const TileKernel of_wmma[] = {BINADE_WMMA_TABLE(BINADE_WMMA_ROW)};

}  // namespace

std::span<const TileKernel> wmma_kernels() { return of_wmma; }

}  // namespace binade
