// SPDX-License-Identifier: Apache-2.0
//
// Blocks that add groups of 16 products of e2m1 exactly and multiply each group by its scales
// (scaled_sum.h: kind::mxf4 and mxf4nvf4), equal to `dot` of emulate/dot.h bit for bit. Operands
// are doubled, which makes them integers; the significands of ue4m3 are integers of 4 bits, those
// of e8m0 are 1:
//
//     operands    0 0.5 1 1.5 2 3 4 6         doubled 0 1 2 3 4 6 8 12; 16 products: below 2^12
//     scales      1.125 · 2^3                 9 and 3; a subnormal 2^-7 is 4 and -6
//     term        group · 9 · 9               19 bits, exponent 3 + 3, in units of 2^(6 - 8)
//     cut         at 2^(top - 35)             27 places up, and then down by top - exponent
//
// An instruction's sum, c included, has room in 64 bits, and exactly in a double.
#pragma once

#include <cstdint>

#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/rounded_sum.h"
#include "emulate/gemm_model.h"

namespace binade::fast {

inline constexpr int group_size = 16, most_groups = 4;
/// The exponent of a term that does not count: far below every floor.
inline constexpr std::int32_t no_term = -8192;

/// Returns the encoding of 1 as a scale.
constexpr std::uint32_t code_of_one(const Format& scale) { return scale == e8m0 ? e8m0_one : 0x38; }
/// Returns the number of fraction bits of a group times two significands of scales.
constexpr int bits_of_terms(const Format& scale) { return 2 + 2 * scale.fraction_bits(); }

/// Returns whether this header's sums know a model.
constexpr bool is_group_sum(const GemmModel& g) {
  const DotModel& x = g.model;
  const BlockScaling& how = x.scaling;
  const bool scales = how.group == group_size && (how.format == e8m0 || how.format == ue4m3) &&
                      how.share > 0 && how.share % group_size == 0;
  return scales && x.recipe == Recipe::fused_block && g.types.a == e2m1 && g.types.b == e2m1 &&
         g.types.c == g.types.d && x.block % how.share == 0 &&
         x.block <= most_groups * group_size && g.k % x.block == 0 && x.fraction_bits >= 0 &&
         x.fraction_bits <= 40 && x.exponent_floor <= 100 && !x.descending && !x.c_last &&
         !x.through_f32 && x.sparse_group == 0 && x.edges == EdgeRules{} &&
         x.scales == WgmmaScales{} && x.grid.bias == g.types.d.bias && g.types.d.has_sign &&
         g.types.d.specials == Specials::ieee;
}

/// Returns twice the number that a code of e2m1 stands for.
constexpr std::int16_t doubled(std::uint64_t code, const Format& f) {
  const Addend x = addend_of(code, f);
  if (x.kind == Kind::zero) return 0;
  const auto magnitude = static_cast<std::int16_t>(x.significand << x.exponent);
  return x.negative ? static_cast<std::int16_t>(-magnitude) : magnitude;
}

/// A scale, significand · 2^(exponent - its fraction bits); a significand of 0 is a zero.
struct GroupScale {
  bool is_nan = false;
  std::int32_t significand = 0, exponent = 0;

  constexpr GroupScale(std::uint32_t code, const Format& f) {
    if (f == e8m0) {
      is_nan = code == e8m0_nan;
      significand = 1;
      exponent = static_cast<std::int32_t>(code - e8m0_one);
      return;
    }
    const std::uint32_t magnitude = code & 0x7F, field = magnitude >> 3;
    is_nan = magnitude == 0x7F;
    significand = static_cast<std::int32_t>(field == 0 ? magnitude : (magnitude & 7) | 8);
    exponent = static_cast<std::int32_t>(field == 0 ? 1 : field) - ue4m3.bias;
  }
};

/// A group times its scales; one that does not count has the exponent no_term.
struct GroupTerm {
  std::int32_t significand = 0, exponent = no_term;
};
constexpr GroupTerm group_term(const std::int16_t* a, const std::int16_t* b, const GroupScale& of_a,
                               const GroupScale& of_b) {
  std::int32_t sum = 0, any = 0;
  for (int i = 0; i < group_size; ++i) {
    const std::int32_t product = a[i] * b[i];
    sum += product;
    any |= product;
  }
  const std::int32_t scale = of_a.significand * of_b.significand;
  if (any == 0 || scale == 0) return {};
  return {sum * scale, of_a.exponent + of_b.exponent};
}

/// Returns the sum of a block's terms and c, which is finite; c and the sum are encodings of d.
constexpr std::uint64_t sum_of_groups(const GemmModel& g, const GroupTerm* terms, int n,
                                      std::uint64_t c_bits) {
  const DotModel& model = g.model;
  const Format& d = g.types.d;
  const Addend c = addend_of(c_bits, d);
  int top = model.exponent_floor;
  if (c.kind == Kind::finite && c.exponent > top) top = c.exponent;
  for (int i = 0; i < n; ++i) top = terms[i].exponent > top ? terms[i].exponent : top;
  std::int64_t sum = aligned(c, top, model.fraction_bits);
  const int up = model.fraction_bits - bits_of_terms(model.scaling.format);
  for (int i = 0; i < n; ++i) {
    const bool negative = terms[i].significand < 0;
    const std::int64_t magnitude = negative ? -terms[i].significand : terms[i].significand;
    const int places = up - (top - terms[i].exponent);
    const std::int64_t cut = places >= 0    ? magnitude << places
                             : places > -32 ? magnitude >> -places
                                            : 0;
    sum += negative ? -cut : cut;
  }
  return fast::rounded_sum(sum, top - model.fraction_bits, model, d);
}

}  // namespace binade::fast
