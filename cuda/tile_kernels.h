// SPDX-License-Identifier: Apache-2.0
//
// The kernels that run tiles, a row each: the instruction, and how many threads work on how many tiles.
#pragma once

#include <span>

#include "cuda/tiles.h"
#include "emulate/tensor_core.h"

namespace binade {

/// What of an instruction's model its name says, beside the types.
struct Variant {
  Rounding rounding = Rounding::ties_to_even;  ///< of f64; no other type has a choice
  IntegerModel integer{};
  WgmmaScales scales{};
};
inline constexpr Variant plain{}, rn{}, rz{Rounding::toward_zero}, rm{Rounding::toward_negative},
    rp{Rounding::toward_positive}, without_c{.scales = {.without_c = true}},
    minus_a{.scales = {.minus_a = true}}, minus_b{.scales = {.minus_b = true}},
    satfinite{.integer = {.satfinite = true}}, and_popc{},
    xor_popc{.integer = {.exclusive_or = true}};

struct TileKernel {
  Family family = Family::mma;
  int m = 0, n = 0, k = 0;
  DotTypes types{};
  Variant variant{};
  void (*kernel)(Tiles) = nullptr;
  const char* name = "";
  const char* arch = "";  ///< that has it, for -Dgpu_archs: "80", or "90a", …
  int threads = 32;       ///< of a block
  int tiles = 1;          ///< of a block
};

/// Null where there is none.
const TileKernel* find_tile_kernel(const Instruction& instruction);

std::span<const TileKernel> mma_kernels();
std::span<const TileKernel> wmma_kernels();
std::span<const TileKernel> wgmma_kernels();
std::span<const TileKernel> sparse_kernels();

}  // namespace binade
