// SPDX-License-Identifier: Apache-2.0
//
// How a Matmul of emulate/matmul.h is laid out for the GPU: factors by k and then by row, tiles of
// 64 × 64 elements, blocks of products at fixed places. Plain C++, a value that kernels take.
#pragma once

#include "emulate/matmul.h"

namespace binade {

inline constexpr int tile = 64;        ///< rows and columns of a block of threads
inline constexpr int tile_stage = 32;  ///< places of k that lie in shared memory at a time
inline constexpr int tile_threads = 256;

struct MatmulPlan {
  Matmul matmul{};
  DotTypes sums{};              ///< types_of_sums, c widened
  bool tiled = false;           ///< else every element is for `dot`
  bool wide = false;            ///< a block's sum needs more than 32 bits
  int block = 0;                ///< L
  int part = 0;                 ///< products in a row that fused blocks count from
  int blocks = 0;               ///< of an element
  int places = 0;               ///< of k: `blocks` blocks, filled up with zeros to whole stages
  int rows = 0, columns = 0;    ///< filled up to whole tiles
  int up = 0;                   ///< products' fraction bits that F has more
  int fraction_bits = 0;        ///< of a sum between blocks
  int c_left = 0, c_right = 0;  ///< from there to units of a block whose top is the sum's exponent

  /// The place of the i-th product in the model's order.
  constexpr int place(int i) const {
    const int blocks_of_part = (part + block - 1) / block;
    return i / part * blocks_of_part * block + i % part;
  }
};

constexpr MatmulPlan matmul_plan(const Matmul& x) {
  const DotModel& model = x.model;
  MatmulPlan out{.matmul = x, .sums = with_wide_c(types_of_sums(model, x.types))};
  DotModel sums = model;
  sums.through_f32 = false;
  const bool two_parts = model.recipe == Recipe::expanded;
  const bool known =
      fast::is_predecodable(sums, out.sums) &&
      (model.rounding == Rounding::toward_zero || model.rounding == Rounding::ties_to_even) &&
      (model.block == 4 || model.block == 8 || model.block == 16 || model.block == 32) &&
      out.sums.d.padding_bits == 0 && model.grid.specials == Specials::ieee;
  out.tiled = known && x.m > 0 && x.n > 0 && x.k > (two_parts ? 1 : 0);
  if (!out.tiled) return out;
  const auto whole = [](int n, int unit) { return (n + unit - 1) / unit * unit; };
  const int product_bits = two_parts ? 2 * binary16.fraction_bits()
                                     : x.types.a.fraction_bits() + x.types.b.fraction_bits();
  // Products are below 2^(F + 2), c below 2^(F + 1): with 32 of them a sum is not below 2^32.
  out.wide = (std::int64_t{model.block} << (model.fraction_bits + 2)) > std::int64_t{1} << 31;
  out.block = model.block;
  out.part = two_parts ? x.k / 2 : x.k;
  out.blocks = (two_parts ? 2 : 1) * ((out.part + out.block - 1) / out.block);
  out.places = whole(out.blocks * out.block, tile_stage);
  out.rows = whole(x.m, tile);
  out.columns = whole(x.n, tile);
  out.up = model.fraction_bits - product_bits;
  const int of_c = out.sums.c.fraction_bits();
  const int of_d = out.sums.d.fraction_bits();
  out.fraction_bits = of_c > of_d ? of_c : of_d;
  const int more = model.fraction_bits - out.fraction_bits;
  out.c_left = more > 0 ? more : 0;
  out.c_right = more < 0 ? -more : 0;
  return out;
}

}  // namespace binade
