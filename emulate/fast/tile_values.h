// SPDX-License-Identifier: Apache-2.0
//
// The steps of a sum (emulate/sum_order.h) on a stack of tiles of floats: zeros, C, conversions and
// additions around the products of a kernel. Equal to `gemm_element` of emulate/gemm.h before its
// epilogue. Numbers of every format inside binary32 are floats, so that a conversion to a wider
// format changes nothing, one to a narrower format rounds, and a sum in a narrower format is
// rounded once (emulate/fast/elementwise.h). An infinity remains one, and so does a NaN.
//
//     step         push_c    push_zero    products    add
//     stack[1]               0 … 0        s … s
//     stack[0]     C … C     C … C        C … C       C + s …        4 × 32 floats each; `held` has their formats
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>

#include "emulate/fast/kernels.h"

namespace binade::fast {

/// Returns whether a format's numbers, infinities and zeros can be kept as floats.
constexpr bool is_in_values(const Format& f) {
  return !is_integer(f) && f.has_infinity() && f.has_sign && f.has_zero && fits_in(f, binary32);
}
/// Returns whether all formats between a model's instructions can: promotion, partial sums, those
/// of tails, and C.
constexpr bool keeps_values(const GemmModel& g) {
  for (const Split& split : g.sum.splits) {
    if (split.tail_mul_add && !is_in_values(*split.tail_mul_add)) return false;
  }
  if (g.sum.scaling.share != 0 && g.sum.promotion != binary32) return false;
  return is_in_values(g.sum.promotion) && is_in_values(g.sum.partial) &&
         is_in_values(g.sum.format_of_sums()) && is_in_values(g.c);
}

inline constexpr std::size_t tile_elements = std::size_t{tile_rows} * tile_columns;

/// Rounds a tile of numbers of format `from` to nearest in format `to`.
inline void convert_values(TileValues& x, const Format& from, const Format& to) {
  if (fits_in(from, to)) return;
  float* const values = x.rows[0].data();
  EventCounts unread;
  own_kernels(Level::portable).quantize_f32(values, values, tile_elements, 0, {to}, unread);
}

/// Replaces left by left + right, rounded to nearest in a format.
inline void add_values(TileValues& left, const TileValues& right, const Format& to) {
  float* const sums = left.rows[0].data();
  const float* const more = right.rows[0].data();
  if (to == binary32) {
    for (std::size_t i = 0; i < tile_elements; ++i) sums[i] += more[i];
    return;
  }
  EventCounts unread;
  const Elementwise add{.from = {binary32, binary32, binary32}, .to = to};
  own_kernels(Level::portable)
      .elementwise_f32(sums, more, nullptr, sums, tile_elements, 0, add, unread);
}

/// Replaces r by r + acc times the scales of number `run`, in binary32: a promotion.
inline void add_scaled_values(const PromotionScaling& scaling, TileValues& r, const TileValues& acc,
                              const TileScales& scales, std::size_t run) {
  const PromotionScaling how =
      promoted_by(scaling, scales.rows != nullptr, scales.columns != nullptr);
  const auto scale = [run](const std::uint32_t* of, std::size_t width, std::size_t line) {
    return of == nullptr ? 1.0F : std::bit_cast<float>(of[run * width + line]);
  };
  for (std::size_t i = 0; i < tile_rows; ++i) {
    const float a = scale(scales.rows, tile_rows, i);
    for (std::size_t j = 0; j < tile_columns; ++j) {
      r.rows[i][j] =
          promoted(how, r.rows[i][j], acc.rows[i][j], a, scale(scales.columns, tile_columns, j));
    }
  }
}

/// Makes NaNs of the elements that were NaNs before.
inline void nans_stay(const TileValues& before, TileValues& after) {
  const float* const x = before.rows[0].data();
  float* const y = after.rows[0].data();
  for (std::size_t i = 0; i < tile_elements; ++i) y[i] = x[i] == x[i] ? y[i] : x[i];
}

/// Does what `ProductKernel::sum` describes. products(step, sums, from_zero) runs the step's
/// instructions on a tile of sums, all of them in one chain; from_zero says that the sums are all
/// 0.
template <class Products>
void sum_steps(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
               const TileValues& c, TileValues* stack, const Products& products) {
  std::array<Format, most_accumulators> held;
  std::size_t depth = 0;
  bool from_zero = false;
  for (const SumStep& step : steps) {
    switch (step.kind) {
      case StepKind::push_zero:
        stack[depth] = {};
        held[depth++] = step.format;
        from_zero = true;
        continue;
      case StepKind::push_c:
        stack[depth] = c;
        convert_values(stack[depth], g.c, step.format);
        held[depth++] = step.format;
        break;
      case StepKind::add:
        --depth;
        add_values(stack[depth - 1], stack[depth], step.format);
        held[depth - 1] = step.format;
        break;
      case StepKind::add_scaled:
        --depth;
        add_scaled_values(g.sum.scaling, stack[depth - 1], stack[depth], x.scales, step.first);
        held[depth - 1] = step.format;
        break;
      case StepKind::convert:
        convert_values(stack[depth - 1], held[depth - 1], step.format);
        held[depth - 1] = step.format;
        break;
      case StepKind::products: {
        const bool at_once = g.types.c == g.types.d;
        SumStep some = step;
        if (!at_once) some.instructions = 1;
        for (int done = 0; done < step.instructions; done += some.instructions) {
          convert_values(stack[depth - 1], held[depth - 1], g.types.c);
          products(some, stack[depth - 1], from_zero && done == 0);
          held[depth - 1] = g.types.d;
          some.first += static_cast<std::size_t>(g.k);
        }
        break;
      }
    }
    from_zero = false;
  }
}

}  // namespace binade::fast
