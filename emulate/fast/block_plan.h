// SPDX-License-Identifier: Apache-2.0
//
// Which fused blocks have a way through numbers of binary32 (vector_dot_blocks.h), what a model asks of it, and how its
// operands are packed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/products.h"
#include "emulate/fast/sparse_lines.h"

namespace binade::fast {

/// The exponent of a zero among packed operands; a subnormal's is its format's least.
inline constexpr std::int32_t no_exponent = -128;

/// What a model asks of a block, as numbers.
struct BlockPlan {
  bool known = false;
  bool is_half = false;         ///< sums are binary16, to nearest; else binary32, toward zero
  bool c_last = false;          ///< c waits for an instruction's end
  bool ends_half = false;       ///< sums of binary32 become binary16 at an instruction's end
  bool may_carry = false;       ///< whether sums may have no room
  bool is_long = false;         ///< whether those of products alone may, but those of half a block
  bool is_short = false;        ///< sums are numbers of binary32
  bool is_wide = false;         ///< products may leave the range that bytes hold
  int fraction_bits = 0;        ///< F
  std::uint32_t floor = 0;      ///< the least top, as bits of binary32: at least 2^-101's
  std::uint32_t least_c = 0;    ///< the least exponent of a c that is not zero, likewise
  std::uint32_t least_sum = 0;  ///< and of a block's sum
  std::uint32_t kept_bits = 0;  ///< of sums in binary32

  /// The least of a product that counts; and the most of an operand, so that a zero times it stays below that.
  static constexpr int least_exponent = -101, most_exponent = 26;
  /// Of products, the least, and of operands the most.
  static constexpr bool in_bytes(int least, int most) {
    return least >= least_exponent && most <= most_exponent;
  }
  static constexpr bool in_bytes(const MagnitudeRange& a, const MagnitudeRange& b) {
    const auto exponent = [](std::uint32_t magnitude) {
      return static_cast<int>(magnitude >> 23) - binary32.bias;
    };
    return in_bytes(exponent(a.least) + exponent(b.least), exponent(std::max(a.most, b.most)));
  }

  BlockPlan(const DotModel& model, const DotTypes& types) {
    const Format a = block_operand(model, types.a), b = block_operand(model, types.b);
    const auto fits = [](const Format& f) {
      return fits_in(f, binary32) && f.has_zero && f.has_sign && f.emin() >= binary32.emin();
    };
    // Codes of more than 32 bits are padded.
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
    // One from 2^-101 on is the least top; a tiny c's block asks for the floor itself.
    const bool floor_fits = model.exponent_floor <= 100;
    known = is_predecodable(dense_twin(model), types) && rounds && floor_fits && fits(a) &&
            fits(b) && is_exact(types.a, a) && is_exact(types.b, b) && is_known_sum(types.c) &&
            is_known_sum(types.d) && a.precision + b.precision <= 24 && f >= 8 && f <= 25 &&
            most <= std::int64_t{1} << 32 && (!is_half || (is_narrow(a) && is_narrow(b))) &&
            // A sum of binary16 and a wider c would be rounded twice.
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
  /// Whether instructions are one long chain of blocks.
  bool is_chain() const { return !c_last && !ends_half; }
};

/// Where the parts of a packed group lie: numbers, and then exponents, [k][line].
struct VectorRows {
  const float* values;
  const std::uint32_t* exponents;  ///< in each byte

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
