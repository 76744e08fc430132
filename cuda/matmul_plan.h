// SPDX-License-Identifier: Apache-2.0
//
// An emulated matrix product d = c + a·b, each element of which is one `dot`, and its layout on the
// GPU: decoded operands ordered by k and then by row, tiles of 64 × 64 elements, and blocks of
// products at fixed places. Plain C++; kernels take these structs by value.
#pragma once

#include "emulate/fast/tile_sums.h"

namespace binade {

inline constexpr int matmul_tile = 64;      ///< rows and columns that a block of threads computes
inline constexpr int matmul_stage = 32;     ///< places of k that lie in shared memory at a time
inline constexpr int matmul_threads = 256;  ///< threads in a block

/// A product, whose matrices hold encodings: a is m × k, row after row; b is k × n, column after
/// column (as mma's .col); c and d are m × n, row after row. Each element is one `dot` of all k
/// products.
struct Matmul {
  DotModel model{};
  DotTypes types{};
  int m = 0, n = 0, k = 0;
};

/// The layout of a product on the GPU.
struct MatmulPlan {
  Matmul matmul{};
  DotTypes sums{};            ///< types_of_sums of the model, with c widened
  fast::TileRules rules{};    ///< rules of the blocks for these types
  bool tiled = false;         ///< false: `dot` computes every element
  int block = 0;              ///< products in a block; it and all below are 0 unless `tiled`
  int part = 0;               ///< products after which blocks begin anew: k, or k / 2 if expanded
  int blocks = 0;             ///< blocks of an element
  int places = 0;             ///< places of k: those of all blocks, filled up to whole stages
  int rows = 0, columns = 0;  ///< m and n, filled up to whole tiles

  /// Returns the place of the i-th product in the model's order.
  constexpr int place(int i) const {
    const int blocks_of_part = (part + block - 1) / block;
    return i / part * blocks_of_part * block + i % part;
  }
};

/// Returns the layout. It is not tiled if fast::tile_rules does not know the model, no kernel has
/// its blocks, or the product is empty.
constexpr MatmulPlan matmul_plan(const Matmul& x) {
  const DotModel& model = x.model;
  MatmulPlan out{.matmul = x, .sums = with_wide_c(types_of_sums(model, x.types))};
  out.rules = fast::tile_rules(model, x.types, out.sums);
  const bool two_parts = model.recipe == Recipe::expanded;
  const bool has_kernel =
      model.block == 4 || model.block == 8 || model.block == 16 || model.block == 32;
  out.tiled = out.rules.known && has_kernel && x.m > 0 && x.n > 0 && x.k > (two_parts ? 1 : 0);
  if (!out.tiled) return out;
  const auto whole = [](int n, int unit) { return (n + unit - 1) / unit * unit; };
  out.block = model.block;
  out.part = two_parts ? x.k / 2 : x.k;
  out.blocks = (two_parts ? 2 : 1) * ((out.part + out.block - 1) / out.block);
  out.places = whole(out.blocks * out.block, matmul_stage);
  out.rows = whole(x.m, matmul_tile);
  out.columns = whole(x.n, matmul_tile);
  return out;
}

}  // namespace binade
