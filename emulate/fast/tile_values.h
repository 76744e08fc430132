// SPDX-License-Identifier: Apache-2.0
//
// The steps of a sum on tiles of floats: what stands between the products of a kernel. Numbers of every format inside
// binary32 are floats, so that a wider format changes nothing; a narrower one rounds, and a sum in it is to odd before.
// An infinity stays one, and so does a NaN.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "emulate/fast/kernels.h"

namespace binade::fast {

/// Whether a format's sums may be kept as floats.
constexpr bool is_in_values(const Format& f) {
  return !is_integer(f) && f.has_infinity() && f.has_sign && f.has_zero && fits_in(f, binary32);
}
/// Whether all of a model's may, but those of its instructions.
constexpr bool keeps_values(const GemmModel& g) {
  return is_in_values(g.sum.promotion) && is_in_values(g.sum.partial) && is_in_values(g.c);
}

inline constexpr std::size_t tile_elements = std::size_t{tile_rows} * tile_columns;

inline void convert_values(TileValues& x, const Format& from, const Format& to) {
  if (fits_in(from, to)) return;
  float* const values = x.rows[0].data();
  EventCounts unread;
  own_kernels(Level::portable).quantize_f32(values, values, tile_elements, 0, {to}, unread);
}

/// left += right, to nearest, in a format.
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

/// NaNs before are NaNs after.
inline void nans_stay(const TileValues& before, TileValues& after) {
  const float* const x = before.rows[0].data();
  float* const y = after.rows[0].data();
  for (std::size_t i = 0; i < tile_elements; ++i) y[i] = x[i] == x[i] ? y[i] : x[i];
}

/// `ProductKernel::sum`, given products(step, sums, from_zero): `step` is of instructions that may run at once.
template <class Products>
void sum_steps(const GemmModel& g, std::span<const SumStep> steps, const TileValues& c,
               TileValues* stack, const Products& products) {
  std::array<Format, 48> held;
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
