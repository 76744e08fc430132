// SPDX-License-Identifier: Apache-2.0
//
// The kernels of mma.sync: one for each line of the table of wrappers.
#include "cuda/ptx_mma.cuh"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

#define BINADE_KERNEL(...) BINADE_KERNEL_OF(__VA_ARGS__)
#define BINADE_KERNEL_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, ...) \
  __global__ void kernel_##name(Tiles tiles) {                                       \
    run_mma_tile<lanes, MmaShape{na, nb, nc, nd, per_c, per_d}, word>(               \
        tiles, [](MmaRegisters<word>& x) { return name(x); });                       \
  }
BINADE_MMA_TABLE(BINADE_KERNEL)

#define BINADE_ROW(...) BINADE_ROW_OF(__VA_ARGS__)
#define BINADE_ROW_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, m, k, fd, fa, fb, fc, \
                      variant, text)                                                               \
  {Family::mma, m, 8, k, {fa, fb, fc, fd}, variant, kernel_##name, #name, #arch, 32, lanes::tiles},
const TileKernel kernels[] = {BINADE_MMA_TABLE(BINADE_ROW)};

}  // namespace

std::span<const TileKernel> mma_kernels() { return kernels; }

}  // namespace binade
