// SPDX-License-Identifier: Apache-2.0
//
// Which fused blocks (fused_block of emulate/fused_sum.h) can be computed in floats by
// vector_dot_blocks.h, the numbers that it needs of a model, and how operands are packed for it. A
// group of 4 rows or of 32 columns holds its operands as floats and then, once more, their
// exponents e in bytes, so that a vector finds the largest e_a + e_b of 32 columns:
//
//     rows       values      float      k0: row 0 1 2 3            k1: row 0 1 2 3            …
//                exponents   uint32     k0: eeee eeee eeee eeee    k1: …                      e in each of four bytes
//     columns    values      float      k0: column 0 1 … 31        k1: column 0 1 … 31        …
//                exponents   int8       k0: e e … e                k1: …
//
//     0.1875 = 1.5 · 2^-3 in a row: 0x3E400000 and 0xFDFDFDFD; a zero: 0x00000000 and 0x80808080 (e = -128)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/products.h"
#include "emulate/fast/sparse_lines.h"

namespace binade::fast {

/// The exponent of a zero among packed operands. A subnormal operand has its format's emin.
inline constexpr std::int32_t no_exponent = -128;

/// The numbers that a model gives a block of n products and c.
struct BlockPlan {
  bool known = false;       ///< false: the model is not for floats; no other member has a meaning
  bool is_half = false;     ///< sums are binary16, to nearest; else binary32, toward zero
  bool c_last = false;      ///< c is added at an instruction's end
  bool ends_half = false;   ///< sums of binary32 become binary16 at an instruction's end
  bool may_carry = false;   ///< a block's integer sum may need more than 32 bits
  bool is_long = false;     ///< so may the sum of a block's products; that of half a block has room
  bool is_short = false;    ///< integer sums have at most 24 bits: exact in binary32
  bool is_scaled = false;   ///< a block's products have the same scales (dot_blocks.h)
  bool is_wide = false;     ///< products' exponents may have no room in bytes
  int fraction_bits = 0;    ///< F: bits of a term below the block's top exponent
  std::uint32_t floor = 0;  ///< least top exponent, at least -101, as bits of its power of two
  std::uint32_t least_c = 0;    ///< least exponent of a nonzero c, as bits of its power of two
  std::uint32_t least_sum = 0;  ///< least exponent of a block's nonzero sum, as such bits
  std::uint32_t kept_bits = 0;  ///< mask of the bits that sums keep in binary32

  /// The least exponent of a product that counts, and the largest exponent of an operand: beside it
  /// a zero's -128 still makes a product below the least one (-128 + 26 < -101).
  static constexpr int least_exponent = -101, most_exponent = 26;
  /// Returns whether bytes suffice for products of at least 2^least and operands below 2^(most +
  /// 1).
  static constexpr bool in_bytes(int least, int most) {
    return least >= least_exponent && most <= most_exponent;
  }
  static constexpr bool in_bytes(const MagnitudeRange& a, const MagnitudeRange& b) {
    const auto exponent = [](std::uint32_t magnitude) {
      return static_cast<int>(magnitude >> 23) - binary32.bias;
    };
    return in_bytes(exponent(a.least) + exponent(b.least), exponent(std::max(a.most, b.most)));
  }

  BlockPlan(const DotModel& model, const DotTypes& types, int k) {
    const Format a = block_operand(model, types.a), b = block_operand(model, types.b);
    const auto fits = [](const Format& f) {
      return fits_in(f, binary32) && f.has_zero && f.has_sign && f.emin() >= binary32.emin();
    };
    // An operand's code has at most 32 bits (only padding makes longer ones), and its value is one
    // of the format that blocks multiply in.
    const auto is_exact = [](const Format& f, const Format& as) {
      return fits_in(f, as) && f.storage_bits() <= 32;
    };
    const auto is_narrow = [](const Format& f) {
      return 2 * f.emin() >= least_exponent && f.emax() <= most_exponent;
    };
    const auto is_known_sum = [](const Format& f) { return f == binary32 || f == binary16; };
    const DotTypes narrow = types_of_sums(model, types), sums = with_wide_c(narrow);
    const Format& g = model.grid;
    const int f = model.fraction_bits;
    const std::int64_t most = std::int64_t{model.block} << (f + 2);
    is_half = sums.d == binary16;
    const bool rounds = is_half ? model.rounding == Rounding::ties_to_even && g == binary16
                                : sums.d == binary32 && model.rounding == Rounding::toward_zero &&
                                      g.exponent_bits == 8 && g.precision <= 24;
    // A floor below 2^-101 counts as 2^-101, except in a block with a tiny c, which uses the floor
    // itself.
    const bool floor_fits = model.exponent_floor <= 100;
    is_scaled = has_block_scales(model, types, k);
    const DotModel unscaled = is_scaled ? without_scales(model) : dense_twin(model);
    known = is_predecodable(unscaled, types) && rounds && floor_fits && fits(a) && fits(b) &&
            is_exact(types.a, a) && is_exact(types.b, b) && is_known_sum(types.c) &&
            is_known_sum(types.d) && a.precision + b.precision <= 24 && f >= 8 && f <= 25 &&
            most <= std::int64_t{1} << 32 && !(is_half && is_scaled) &&
            (!(is_half || is_scaled) || (is_narrow(a) && is_narrow(b))) &&
            // With a wider c, added last, a sum of binary16 would be rounded twice.
            (!is_half || !model.c_last || types.c == binary16);
    if (!known) return;
    c_last = model.c_last;
    ends_half = sums.d != types.d;
    is_wide = !is_narrow(a) || !is_narrow(b);
    const std::int64_t with_c = most + (std::int64_t{2} << f);
    may_carry = with_c >= std::int64_t{1} << 31;
    is_long = most > std::int64_t{1} << 31;
    is_short = with_c <= std::int64_t{1} << 24;
    fraction_bits = f;
    const int least = std::max(model.exponent_floor, -101);
    floor = static_cast<std::uint32_t>(least + binary32.bias) << 23;
    const auto least_of = [](const Format& of) {
      return of == binary16 ? static_cast<std::uint32_t>(binary16.emin() + binary32.bias) << 23
                            : std::uint32_t{0};
    };
    least_c = least_of(sums.c);
    least_sum = least_of(sums.d);
    kept_bits = ~((std::uint32_t{1} << (24 - std::min(24, g.precision))) - 1);
  }
  /// Returns whether nothing is done between two instructions, so that they are one long chain of
  /// blocks.
  bool is_chain() const { return !c_last && !ends_half; }
};

/// The two parts of a packed group: numbers, and then exponents, both as [k][line].
struct VectorRows {
  const float* values;
  const std::uint32_t* exponents;  ///< repeated in each byte

  explicit VectorRows(const ProductTile& x)
      : values(reinterpret_cast<const float*>(x.rows)),
        exponents(reinterpret_cast<const std::uint32_t*>(
            x.rows + x.length * std::size_t{tile_rows} * sizeof(float))) {}
};
struct VectorColumns {
  const float* values;
  const std::int8_t* exponents;

  explicit VectorColumns(const ProductTile& x)
      : values(reinterpret_cast<const float*>(x.columns)),
        exponents(reinterpret_cast<const std::int8_t*>(x.columns +
                                                       x.length * tile_columns * sizeof(float))) {}
};

}  // namespace binade::fast
