// SPDX-License-Identifier: Apache-2.0
//
// A matrix of dots, d = c + a·b for each row of a and each column of b, and how it is laid out for the
// GPU: factors by k and then by row, tiles of 64 × 64 elements, blocks of products at fixed places. Plain
// C++, values that kernels take.
#pragma once

#include "emulate/fast/tile_sums.h"

namespace binade {

inline constexpr int matmul_tile = 64;   ///< rows and columns of a block of threads
inline constexpr int matmul_stage = 32;  ///< places of k that lie in shared memory at a time
inline constexpr int matmul_threads = 256;

/// All as encodings: a is m × k, row after row; b is k × n, column after column (as mma's .col); c and
/// d are m × n, row after row. Each element is the `dot` of all k.
struct Matmul {
  DotModel model{};
  DotTypes types{};
  int m = 0, n = 0, k = 0;
};

struct MatmulPlan {
  Matmul matmul{};
  DotTypes sums{};            ///< types_of_sums, c widened
  fast::TileRules rules{};    ///< of them
  bool tiled = false;         ///< else every element is for `dot`
  int block = 0;              ///< L
  int part = 0;               ///< products in a row that fused blocks count from
  int blocks = 0;             ///< of an element
  int places = 0;             ///< of k: `blocks` blocks, filled up with zeros to whole stages
  int rows = 0, columns = 0;  ///< filled up to whole tiles

  /// The place of the i-th product in the model's order.
  constexpr int place(int i) const {
    const int blocks_of_part = (part + block - 1) / block;
    return i / part * blocks_of_part * block + i % part;
  }
};

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
