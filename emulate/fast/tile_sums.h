// SPDX-License-Identifier: Apache-2.0
//
// A fused block of a Tensor Core in a few integer operations for each product, of 32 bits where the
// sum has room, for GPUs, whose shifts take any count. Operands are Factors (dot_blocks.h). Block
// after block is equal to `dot` of emulate/dot.h bit for bit, to which sums that leave the range
// and operands that are NaNs or infinities are left. `shift(x, n)` is the caller's x >> n for any n
// >= 0: one instruction of a GPU, while in C++ n must be less than the word's width.
//
//  cut      Toward zero by a shift that rounds down. -22 cut by 3 places is -2:
//             product        1…1101010   -22
//             + s            1…1101001   -23   s = product >> 31: -1 for negative ones, else 0
//             shift by 3     1…1111101    -3
//             - s            1…1111110    -2
//  between  A sum between two blocks is 1.m · 2^exponent as `sign 0…01mmm…m`: the leading bit at
//             fraction_bits, of a subnormal sum below that.
//  round    The block's sum with its leading bit at the top of the word; the bits below the grid's
//             precision are cut off, or compared with a half:
//             left     1mmmmmmmmmm h rrrrrrrrrr     kept + (h and (r or the last m))
//                      `- kept --' `-- rest --'
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulate/fast/dot_blocks.h"

namespace binade::fast {

/// The numbers that a model gives its blocks.
struct TileRules {
  bool known = false;  ///< false: only `dot` computes the model
  bool wide = false;   ///< a block's sum needs more than 32 bits
  Format grid{};
  Rounding rounding = Rounding::toward_zero;  ///< or ties_to_even
  int floor = 0;                              ///< least top exponent of a block
  int cut_bits = 0;                           ///< F: bits of terms below the top exponent
  int up = 0;                                 ///< F minus the fraction bits of a product
  int fraction_bits = 0;                      ///< fraction bits of a sum between blocks
  int c_left = 0, c_right = 0;  ///< shifts of a sum to a block's units, if top is its exponent
};

/// Returns a model's rules. `sums` are the types of its sums, c widened (types_of_sums,
/// with_wide_c).
constexpr TileRules tile_rules(const DotModel& model, const DotTypes& types, const DotTypes& sums) {
  DotModel of_sums = model;
  of_sums.through_f32 = false;
  TileRules out{.grid = model.grid, .rounding = model.rounding, .floor = model.exponent_floor};
  out.known =
      is_predecodable(of_sums, sums) &&
      (model.rounding == Rounding::toward_zero || model.rounding == Rounding::ties_to_even) &&
      sums.d.padding_bits == 0 && model.grid.specials == Specials::ieee;
  if (!out.known) return out;
  const int product_bits = model.recipe == Recipe::expanded
                               ? 2 * binary16.fraction_bits()
                               : types.a.fraction_bits() + types.b.fraction_bits();
  // A product is below 2^(F + 2) units, c below 2^(F + 1). While a block's products sum to less
  // than 2^31, a magnitude has room in 32 bits with c, too; 32 products of F = 25 may reach almost
  // 2^32.
  out.wide = (std::int64_t{model.block} << (model.fraction_bits + 2)) > std::int64_t{1} << 31;
  out.cut_bits = model.fraction_bits;
  out.up = model.fraction_bits - product_bits;
  const int of_c = sums.c.fraction_bits();
  const int of_d = sums.d.fraction_bits();
  out.fraction_bits = of_c > of_d ? of_c : of_d;
  const int more = model.fraction_bits - out.fraction_bits;
  out.c_left = more > 0 ? more : 0;
  out.c_right = more < 0 ? -more : 0;
  return out;
}

/// An element between two blocks: ±magnitude · 2^(exponent - fraction_bits), bit 31 the sign.
struct TileSum {
  std::uint32_t word = 0;
  std::int32_t exponent = Factor{}.exponent;  ///< a zero's is far below every floor
};

/// Decodes an encoding of format f; a NaN or an infinity becomes a zero.
constexpr TileSum tile_sum(std::uint64_t bits, const Format& f, int fraction_bits) {
  const Addend x = addend_of(bits, f);
  const std::uint32_t sign = x.negative ? 0x80000000 : 0;
  if (x.kind != Kind::finite) return {sign};
  return {sign | static_cast<std::uint32_t>(x.significand) << (fraction_bits - x.fraction_bits),
          x.exponent};
}

/// Encodes a sum in d; it must not exceed d's largest finite number.
constexpr std::uint64_t bits_of(const TileSum& x, const Format& d, int fraction_bits) {
  const std::uint64_t sign = std::uint64_t{x.word >> 31} << (d.bits() - 1);
  const std::uint32_t magnitude = (x.word & 0x7FFFFFFF) >> (fraction_bits - d.fraction_bits());
  if (magnitude == 0) return sign;
  // A normal number's leading bit adds one to the field, a subnormal's field stays 0.
  const auto field = static_cast<std::uint64_t>(x.exponent + d.bias - 1);
  return sign | ((field << d.fraction_bits()) + magnitude);
}

/// Returns a product of significands, one of them shifted up by `up`, cut toward zero in the
/// block's units; `distance` is top minus the product's exponent.
template <class Shift>
constexpr std::int32_t cut_product(std::int32_t product, int distance, const Shift& shift) {
  const std::int32_t s = product >> 31;
  return shift(product + s, distance) - s;
}

/// Returns the sum so far, cut toward zero in units of a block of exponent `top`.
template <class Shift>
constexpr std::int32_t cut_sum(const TileRules& rules, const TileSum& x, int top,
                               const Shift& shift) {
  const std::uint32_t magnitude = (x.word & 0x7FFFFFFF) << rules.c_left;
  const auto cut = static_cast<std::int32_t>(shift(magnitude, top - x.exponent + rules.c_right));
  return x.word >> 31 != 0 ? -cut : cut;
}

/// Rounds a block's exact sum in units of 2^(top - F). Returns false where the result leaves the
/// range.
template <bool nearest, bool wide, class Shift>
constexpr bool round_tile_sum(const TileRules& rules, std::int64_t sum, int top, const Shift& shift,
                              TileSum& out) {
  using Magnitude = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
  constexpr int width = wide ? 64 : 32;
  const Format& g = rules.grid;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<Magnitude>(negative ? -sum : sum);
  if (magnitude == 0) {
    out = {};
    return true;
  }
  const int zeros = leading_zeros(magnitude);
  const Magnitude left = magnitude << zeros;
  const int unbounded = top - rules.cut_bits + width - 1 - zeros;
  int exponent = unbounded > g.emin() ? unbounded : g.emin();
  const int drop = width - g.precision + (exponent - unbounded);
  auto kept = static_cast<std::uint32_t>(wide ? drop < 64 ? left >> (drop & 63) : Magnitude{0}
                                              : shift(static_cast<std::uint32_t>(left), drop));
  if (nearest) {
    constexpr Magnitude half = Magnitude{1} << (width - 1);
    const Magnitude rest = drop <= width ? left << ((width - drop) & (width - 1)) : Magnitude{0};
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    if (kept >> g.precision != 0) {
      kept >>= 1;
      exponent += 1;
    }
  }
  const int up = rules.fraction_bits - g.fraction_bits();
  out.word = (negative && kept != 0 ? 0x80000000 : 0) | kept << up;
  out.exponent = kept != 0 ? exponent : Factor{}.exponent;
  return exponent <= g.emax();
}

}  // namespace binade::fast
