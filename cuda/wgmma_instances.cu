// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles through wgmma, one for each row of BINADE_WGMMA_TABLE. This file only
// instantiates them: their body is run_wgmma_tile in wgmma_tiles.cuh, the table and the PTX are in
// ptx_wgmma.cuh.
#include "cuda/ptx_wgmma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

#define BINADE_WGMMA_KERNEL(name, nd, per, ...)                                                   \
  __global__ void __launch_bounds__(wgmma_threads) kernel_##name(Tiles tiles) {                   \
    BINADE_ONLY_ON(                                                                               \
        90a, run_wgmma_tile<WgmmaPtx, nd, per>(tiles, [](WgmmaOperands& x) { return name(x); });) \
  }
BINADE_WGMMA_TABLE(BINADE_WGMMA_KERNEL)

#define BINADE_WGMMA_ROW(name, nd, per, k, fd, fa, fb, variant, ...) \
  {Family::wgmma, wgmma_m,       wgmma_n, k,     {fa, fb, fd, fd},   \
   variant,       kernel_##name, #name,   "90a", wgmma_threads},
const TileKernel of_wgmma[] = {BINADE_WGMMA_TABLE(BINADE_WGMMA_ROW)};

}  // namespace

std::span<const TileKernel> wgmma_kernels() { return of_wgmma; }

}  // namespace binade
