// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles through mma.sync, one for each row of BINADE_MMA_TABLE. This file only
// instantiates them: their body is run_mma_tile in mma_tiles.cuh, the table and the PTX are in
// ptx_mma.cuh.
#include "cuda/ptx_mma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

#define BINADE_MMA_KERNEL(...) BINADE_MMA_KERNEL_OF(__VA_ARGS__)
#define BINADE_MMA_KERNEL_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, ...)    \
  __global__ void kernel_##name(Tiles tiles) {                                              \
    BINADE_ONLY_ON(arch, run_mma_tile<lanes, MmaShape{na, nb, nc, nd, per_c, per_d}, word>( \
                             tiles, [](MmaRegisters<word>& x) { return name(x); });)        \
  }
BINADE_MMA_TABLE(BINADE_MMA_KERNEL)

#define BINADE_MMA_ROW(...) BINADE_MMA_ROW_OF(__VA_ARGS__)
#define BINADE_MMA_ROW_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, m, k, fd, fa, fb, \
                          fc, variant, text)                                                       \
  {Family::mma, m, 8, k, {fa, fb, fc, fd}, variant, kernel_##name, #name, #arch, 32, lanes::tiles},
const TileKernel of_mma[] = {BINADE_MMA_TABLE(BINADE_MMA_ROW)};

}  // namespace

std::span<const TileKernel> mma_kernels() { return of_mma; }

}  // namespace binade
