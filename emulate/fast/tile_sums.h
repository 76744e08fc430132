// SPDX-License-Identifier: Apache-2.0
//
// A fused block of a Tensor Core in a few integer operations a product, of 32 bits where the sum fits:
// for processors whose shifts take any count. Operands are Factors (dot_blocks.h). Block after block
// equal to `dot` of emulate/dot.h bit for bit; a sum that leaves the range, and a NaN or an infinity
// among the operands, is for that. `shift(x, n)` is x >> n for any n >= 0: one instruction of a GPU,
// and not in C++.
//
//  cut      Toward zero by a shift that rounds down. -22 cut by 3 places is -2:
//             product        1…1101010   -22
//             + s            1…1101001   -23   s = product >> 31: -1 for negative ones, else 0
//             shift by 3     1…1111101    -3
//             - s            1…1111110    -2
//  between  A sum between two blocks is 1.m · 2^exponent as `sign 0…01mmm…m`: the leading bit at
//             fraction_bits, of a subnormal sum below that.
//  round    The block's sum with its leading bit at the top of the word; what lies below the grid's
//             precision falls out, or is held against a half:
//             left     1mmmmmmmmmm h rrrrrrrrrr     kept + (h and (r or the last m))
//                      `- kept --' `-- rest --'
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulate/fast/dot_blocks.h"

namespace binade::fast {

/// The numbers of a model's blocks.
struct TileRules {
  bool known = false;  ///< else the model is for `dot`
  bool wide = false;   ///< a block's sum needs more than 32 bits
  Format grid{};
  Rounding rounding = Rounding::toward_zero;  ///< or ties_to_even
  int floor = 0;                              ///< of a block's exponent
  int cut_bits = 0;                           ///< F: bits of terms below the largest exponent
  int up = 0;                                 ///< products' fraction bits that F has more
  int fraction_bits = 0;                      ///< of a sum between blocks
  int c_left = 0, c_right = 0;  ///< from there to units of a block whose top is the sum's exponent
};

/// `sums`: the types of the sums, c widened (types_of_sums, with_wide_c).
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
  // Products are below 2^(F + 2), c below 2^(F + 1): with 32 of them a sum is not below 2^32.
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
  std::int32_t exponent = Factor{}.exponent;  ///< of zeros: far below every floor
};

/// Of an encoding; of a NaN or an infinity a zero.
constexpr TileSum tile_sum(std::uint64_t bits, const Format& f, int fraction_bits) {
  const Addend x = addend_of(bits, f);
  const std::uint32_t sign = x.negative ? 0x80000000 : 0;
  if (x.kind != Kind::finite) return {sign};
  return {sign | static_cast<std::uint32_t>(x.significand) << (fraction_bits - x.fraction_bits),
          x.exponent};
}

/// Below the largest finite number.
constexpr std::uint64_t bits_of(const TileSum& x, const Format& d, int fraction_bits) {
  const std::uint64_t sign = std::uint64_t{x.word >> 31} << (d.bits() - 1);
  const std::uint32_t magnitude = (x.word & 0x7FFFFFFF) >> (fraction_bits - d.fraction_bits());
  if (magnitude == 0) return sign;
  // A normal number's leading bit adds one to the field, a subnormal's field stays 0.
  const auto field = static_cast<std::uint64_t>(x.exponent + d.bias - 1);
  return sign | ((field << d.fraction_bits()) + magnitude);
}

/// A product of significands, one of them shifted up by `up`, in units of the block.
template <class Shift>
constexpr std::int32_t cut_product(std::int32_t product, int distance, const Shift& shift) {
  const std::int32_t s = product >> 31;
  return shift(product + s, distance) - s;
}

/// The sum so far in units of a block.
template <class Shift>
constexpr std::int32_t cut_sum(const TileRules& rules, const TileSum& x, int top,
                               const Shift& shift) {
  const std::uint32_t magnitude = (x.word & 0x7FFFFFFF) << rules.c_left;
  const auto cut = static_cast<std::int32_t>(shift(magnitude, top - x.exponent + rules.c_right));
  return x.word >> 31 != 0 ? -cut : cut;
}

/// The block's exact sum in units of 2^(top - F), rounded. False: it leaves the range.
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
