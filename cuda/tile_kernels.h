// SPDX-License-Identifier: Apache-2.0
//
// The table of the kernels that run tiles: for each, its instruction and the number of threads and
// of tiles in a block.
#pragma once

#include <span>

#include "cuda/tiles.h"
#include "emulate/tensor_core.h"

namespace binade {

/// What an instruction's name states beside shape and types.
struct Variant {
  Rounding rounding = Rounding::ties_to_even;  ///< counts for f64 only; other types have no choice
  IntegerModel integer{};
  WgmmaScales scales{};
  ScaledKind kind = ScaledKind::none;
};
inline constexpr Variant plain{}, rn{}, rz{Rounding::toward_zero}, rm{Rounding::toward_negative},
    rp{Rounding::toward_positive}, without_c{.scales = {.without_c = true}},
    minus_a{.scales = {.minus_a = true}}, minus_b{.scales = {.minus_b = true}},
    satfinite{.integer = {.satfinite = true}}, and_popc{},
    xor_popc{.integer = {.exclusive_or = true}};

/// A kernel and the instruction that it executes. n is 8 for wgmma, which stands for every n.
struct TileKernel {
  Family family = Family::mma;
  int m = 0, n = 0, k = 0;
  DotTypes types{};
  Variant variant{};
  void (*kernel)(Tiles) = nullptr;
  const char* name = "";  ///< the function's in ptx_*.cuh
  const char* arch = "";  ///< lowest architecture that has it, as -Dgpu_archs takes it: "80", "90a"
  int threads = 32;       ///< threads in a block
  int tiles = 1;          ///< tiles in a block
};

/// Returns the kernel of an instruction, or null if there is none. The n of wgmma, sparse or not,
/// is not compared.
const TileKernel* find_tile_kernel(const Instruction& instruction);

// The rows of the table by family; sparse_kernels are those of mma.sp and wgmma.sp, scaled_kernels
// those of mma with scales of blocks.
std::span<const TileKernel> mma_kernels();
std::span<const TileKernel> wmma_kernels();
std::span<const TileKernel> wgmma_kernels();
std::span<const TileKernel> sparse_kernels();
std::span<const TileKernel> scaled_kernels();

}  // namespace binade
