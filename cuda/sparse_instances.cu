// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles through mma.sp and wgmma.sp, one for each row of BINADE_MMA_SP_TABLE
// and BINADE_WGMMA_SP_TABLE. This file only instantiates them: their bodies are run_mma_tile in
// mma_tiles.cuh and run_wgmma_tile in wgmma_tiles.cuh, the tables and the PTX are in
// ptx_mma_sp.cuh.
#include "cuda/ptx_mma_sp.cuh"
#include "cuda/ptx_wgmma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

#define BINADE_MMA_SP_KERNEL(name, arch, nd, na, nb, nc, per, k, groups, ...)                    \
  __global__ void kernel_##name(Tiles tiles) {                                                   \
    BINADE_ONLY_ON(arch,                                                                         \
                   run_mma_tile<M16n8Lanes, MmaShape{na, nb, nc, nd, per, per}, word32, groups>( \
                       tiles, [](MmaRegisters<word32>& x) { return name(x); });)                 \
  }
BINADE_MMA_SP_TABLE(BINADE_MMA_SP_KERNEL)

#define BINADE_WGMMA_SP_KERNEL(name, nd, per, k, groups, ...)                   \
  __global__ void __launch_bounds__(wgmma_threads) kernel_##name(Tiles tiles) { \
    BINADE_ONLY_ON(90a, run_wgmma_tile<WgmmaPtx, nd, per, groups>(              \
                            tiles, [](WgmmaOperands& x) { return name(x); });)  \
  }
BINADE_WGMMA_SP_TABLE(BINADE_WGMMA_SP_KERNEL)

#define BINADE_MMA_SP_ROW(name, arch, nd, na, nb, nc, per, k, groups, fd, fa, fb, text) \
  {Family::mma_sp, 16, 8, k, {fa, fb, fd, fd}, plain, kernel_##name, #name, #arch},
#define BINADE_WGMMA_SP_ROW(name, nd, per, k, groups, fd, fa, fb, ...)                          \
  {Family::wgmma_sp, wgmma_m, wgmma_n, k, {fa, fb, fd, fd}, plain, kernel_##name, #name, "90a", \
   wgmma_threads},
const TileKernel sparse[] = {BINADE_MMA_SP_TABLE(BINADE_MMA_SP_ROW)
                                 BINADE_WGMMA_SP_TABLE(BINADE_WGMMA_SP_ROW)};

}  // namespace

std::span<const TileKernel> sparse_kernels() { return sparse; }

}  // namespace binade
