// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles through mma.sync with scales of blocks, one for each row of
// BINADE_SCALED_TABLE. This file only instantiates them: their body is run_mma_tile in
// mma_tiles.cuh, the table and the PTX are in ptx_block_scaled_mma.cuh.
#include "cuda/ptx_block_scaled_mma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

#define BINADE_SCALED_KERNEL(name, k, a, b, kind, text)                                \
  __global__ void kernel_##name(Tiles tiles) {                                         \
    BINADE_ONLY_ON(120a, run_mma_tile<M16n8Lanes, MmaShape{4, 2, 4, 4}, word32, 0,     \
                                      name_of(ScaledKind::kind).count>(                \
                             tiles, [](MmaRegisters<word32>& x) { return name(x); });) \
  }
BINADE_SCALED_TABLE(BINADE_SCALED_KERNEL)

#define BINADE_SCALED_ROW(name, k, a, b, kind_of, text) \
  {Family::mma,                                         \
   16,                                                  \
   8,                                                   \
   k,                                                   \
   {a, b, binary32, binary32},                          \
   {.kind = ScaledKind::kind_of},                       \
   kernel_##name,                                       \
   #name,                                               \
   "120a",                                              \
   32,                                                  \
   1},
const TileKernel of_scaled_mma[] = {BINADE_SCALED_TABLE(BINADE_SCALED_ROW)};

}  // namespace

std::span<const TileKernel> scaled_kernels() { return of_scaled_mma; }

}  // namespace binade
