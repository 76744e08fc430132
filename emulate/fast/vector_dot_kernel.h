// SPDX-License-Identifier: Apache-2.0
//
// The fused blocks of vector_dot_blocks.h as a level's kernel (ProductKernel of products.h), equal
// to `dot` of emulate/dot.h in every bit: which models it takes, how their operands are packed, and
// the steps of a tile's sum. Each float is followed, in another part of its group, by its exponent
// (block_plan.h):
//
//     0.1875, 1.5 · 2^-3     0 01111100 1000…     124 - 127 = -3, FD as a byte; a zero 80, -128
//     a row's word           FDFDFDFD             one exponent for a vector of 32 columns
//     32 columns' bytes      FD 80 02 …           each column's own
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/fast/block_plan.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"
#include "emulate/fast/sparse_lines.h"
#include "emulate/fast/tile_values.h"
#include "emulate/fast/vector_dot_blocks.h"
#include "emulate/fast/vector_packing.h"

namespace binade::fast {

/// The level's kernel. It calls the portable one for models that it does not know.
template <class V>
struct VectorDotBlocksKernel {
  using I = typename V::I;

  static const ProductKernel& below() { return *own_kernels(Level::portable).dot_blocks; }

  static Packing packing(const GemmModel& g) {
    const bool is_own = g.k % 4 == 0 && keeps_values(g) && BlockPlan(g.model, g.types, g.k).known;
    if (!is_own) return below().packing(g);
    Packing out{true, block_operand(g.model, g.types.a), block_operand(g.model, g.types.b)};
    out.operand_bytes = sizeof(float);
    out.row_bytes = sizeof(float) + sizeof(std::uint32_t);
    out.column_bytes = sizeof(float) + sizeof(std::int8_t);
    out.row_step = tile_rows;
    out.column_step = tile_columns;
    out.in_values = true;
    out.specials = SpecialOperands::dropped;
    out.sparse_group = g.model.sparse_group;
    return out;
  }
  static int place(const GemmModel& g, int i) { return below().place(g, i); }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    if (!p.in_values) return below().decode(p, f, as, codes, n, out);
    return decode_to_floats<V>(f, codes, n, reinterpret_cast<float*>(out));
  }

  /// Packs lines and their exponents. First the operands that sparsity leaves out become zeros;
  /// then infinities and NaNs become zeros, too.
  static void pack(const PackedLines& x, std::byte* group) {
    if (!x.packing->in_values) return below().pack(x, group);
    auto* const values = reinterpret_cast<float*>(group);
    std::byte* const exponents = group + x.length * x.lines * sizeof(float);
    pack_side_by_side<V>(x, values);
    keep_half(
        x, [&](std::size_t line, std::size_t i) -> float& { return values[i * x.lines + line]; });
    drop_specials<V>(values, x.length * x.lines);
    const I least = V::set(static_cast<std::uint32_t>(x.format().emin() + binary32.bias));
    const std::size_t n = x.length * x.lines;
    if (!x.are_columns) {
      auto* const words = reinterpret_cast<std::uint32_t*>(exponents);
      for (std::size_t i = 0; i < n; i += V::lanes) {
        I e = V::bit_and(exponent_of(V::load(values + i), least), V::set(0xFF));
        e = V::bit_or(e, V::shift_left(e, 8));
        V::store(words + i, V::bit_or(e, V::shift_left(e, 16)));
      }
      return;
    }
    using Bytes = typename V::Bytes;
    for (std::size_t i = 0; i < n; i += Bytes::vectors * V::lanes) {
      I e[Bytes::vectors];
      for (std::size_t j = 0; j < Bytes::vectors; ++j) {
        e[j] = exponent_of(V::load(values + i + j * V::lanes), least);
      }
      Bytes::store(exponents + i, Bytes::pack_signs(e), false);
    }
  }
  /// Returns the exponents of floats, signed; `least`, biased, is that of subnormals, and
  /// no_exponent that of zeros.
  static I exponent_of(I bits, I least) {
    const I magnitude = V::bit_and(bits, V::set(0x7FFFFFFF));
    const I biased = V::max(V::shift_right(magnitude, 23), least);
    const I zero = V::set(static_cast<std::uint32_t>(no_exponent));
    return V::select(V::equal(magnitude, V::zero()), zero,
                     V::sub(biased, V::set(static_cast<std::uint32_t>(binary32.bias))));
  }

  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    below().run(g, x, sums, left);
  }
  static void sum(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
                  const TileValues& c, TileValues* stack) {
    VectorDotBlocks<V> blocks(g, x);
    sum_steps(g, steps, x, c, stack, [&](const SumStep& step, TileValues& sums, bool from_zero) {
      blocks.run(x.first + step.first, step.instructions, sums, from_zero);
    });
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run, &sum};
};

}  // namespace binade::fast
