// SPDX-License-Identifier: Apache-2.0
//
// Blocks of scaled groups (dot_groups.h; scaled_sum.h, equal in every bit) by vectors of V, a lane
// for each column. V is the level's vector unit (avx2.h, avx512.h): a struct of types and functions
// for its vectors. Groups are summed in bytes, and then multiplied, cut and added in doubles, in
// which everything is exact:
//
//     columns  b + 12: 0 … 24, bytes   [group][word][32 columns]    words 0 … 3: 4 operands each
//     rows     a: -12 … 12, bytes      [group][word][4 rows]        word 4: bit i is set if operand i is no zero
//     group    sum of a·(b + 12) - 12 · sum of a                    word 5 of a row: the second sum, negative
//     counts   where a's word 4 & b's is not 0
//     term     group · sa · sb · 2^(F - top)    cut by its integer part; below 2^46
//     d        sum · 2^(top - F)                cut to multiples of 2^-149, then to 24 bits
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "emulate/fast/dot_groups.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"
#include "emulate/fast/tile_values.h"
#include "emulate/fast/vector_packing.h"

namespace binade::fast {

/// A tile of 4 rows × 32 columns of a model's blocks. V is a unit of 32-bit lanes.
template <class V>
struct VectorDotGroups {
  using I = typename V::I;
  using U = typename V::Words;
  using Numbers = typename U::F;

  /// Words of a packed group of one line, and the numbers of two of them.
  static constexpr std::size_t words = 8, of_nonzeros = 4, of_sum = 5;
  static constexpr std::size_t size = group_size, most = most_groups;
  /// The least exponent that a floor may have: below it no term and no c has one.
  static constexpr int least_floor = -300;

  template <class T, std::size_t lines>
  using Groups = std::array<std::array<T, lines>, most>;
  template <class T>
  using Tile = std::array<std::array<T, tile_columns>, tile_rows>;

  const GemmModel& g;
  const ProductTile& x;
  std::size_t share = static_cast<std::size_t>(g.model.scaling.share);
  std::size_t groups = static_cast<std::size_t>(g.model.block) / size;  ///< of a block
  bool are_powers = g.model.scaling.format == e8m0;
  std::int32_t floor = std::max(g.model.exponent_floor, least_floor);

  /// A block's scales as numbers, those of rows a fourth of them, and their exponents, that of a
  /// zero no_term.
  alignas(V::bytes) Groups<double, tile_rows> row_scales;
  alignas(V::bytes) Groups<double, tile_columns> column_scales;
  alignas(V::bytes) Groups<std::int32_t, tile_rows> row_exponents;
  alignas(V::bytes) Groups<std::int32_t, tile_columns> column_exponents;
  /// A block's sums of products, and 2^(F - top) as a double's biased exponent.
  alignas(V::bytes) std::array<Tile<std::int32_t>, most> sums;
  alignas(V::bytes) Tile<std::uint32_t> scale_fields;

  VectorDotGroups(const GemmModel& model, const ProductTile& tile) : g(model), x(tile) {}

  /// Runs instructions on the sums `on`, from product number `first` on.
  void run(std::size_t first, int instructions, TileValues& on) {
    const std::size_t block = groups * size;
    const auto n = static_cast<std::size_t>(instructions) * static_cast<std::size_t>(g.k);
    for (std::size_t at = first; at < first + n; at += block) {
      for (std::size_t k = 0; k < groups; ++k) read_scales(k, (at + k * size) / share);
      sum_groups(at / size, on);
      add_terms(on);
    }
  }

 private:
  void read_scales(std::size_t group, std::size_t run) {
    alignas(V::bytes) std::array<std::uint32_t, tile_columns> ones;
    const std::uint32_t* columns = ones.data();
    if (x.scales.columns != nullptr) {
      columns = x.scales.columns + run * tile_columns;
    } else {
      ones.fill(code_of_one(g.model.scaling.format));
    }
    for (std::size_t j = 0; j < tile_columns; j += V::lanes) {
      V::store(&column_exponents[group][j], exponents_of(V::load_words(columns + j)));
    }
    for (std::size_t j = 0; j < tile_columns; j += U::lanes) {
      U::store(&column_scales[group][j], U::bits(numbers_of(U::load_words(columns + j))));
    }
    for (std::size_t i = 0; i < tile_rows; ++i) {
      const std::uint32_t code = x.scales.rows == nullptr ? code_of_one(g.model.scaling.format)
                                                          : x.scales.rows[run * tile_rows + i];
      const GroupScale scale(code, g.model.scaling.format);
      // Products of doubled operands are four times too large.
      const int power = scale.exponent - g.model.scaling.format.fraction_bits() - 2 + binary64.bias;
      const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(power) << 52);
      row_scales[group][i] =
          scale.is_nan ? std::bit_cast<double>(quiet_nan) : scale.significand * unit;
      row_exponents[group][i] = scale.significand == 0 ? no_term : scale.exponent;
    }
  }
  I exponents_of(I codes) const {
    if (are_powers) return V::sub(codes, V::set(e8m0_one));
    const I magnitude = V::bit_and(codes, V::set(0x7F));
    const I field = V::max(V::shift_right(magnitude, 3), V::set(1));
    return V::select(V::equal(magnitude, V::zero()), V::set(static_cast<std::uint32_t>(no_term)),
                     V::sub(field, V::set(static_cast<std::uint32_t>(ue4m3.bias))));
  }
  Numbers numbers_of(I codes) const {
    const I nan = U::set(quiet_nan);
    if (are_powers) {
      const I bits = U::shift_left(U::add(codes, U::set(binary64.bias - e8m0_one)), 52);
      return U::number(U::select(U::equal(codes, U::set(e8m0_nan)), nan, bits));
    }
    // A number of binary64 whose exponent's field is ue4m3's; a subnormal one stays subnormal.
    const I magnitude = U::bit_and(codes, U::set(0x7F));
    const Numbers power = U::number(U::set(std::uint64_t{2 * binary64.bias - ue4m3.bias} << 52));
    const I bits = U::bits(U::mul(U::number(U::shift_left(magnitude, 49)), power));
    return U::number(U::select(U::equal(magnitude, U::set(0x7F)), nan, bits));
  }

  /// Sets `sums` and `scale_fields` for the block that begins with group number `first`.
  void sum_groups(std::size_t first, const TileValues& on) {
    const auto* const a = reinterpret_cast<const std::uint32_t*>(x.rows);
    const auto* const b = reinterpret_cast<const std::uint32_t*>(x.columns);
    const I ones = V::set(0x00010001), none = V::set(static_cast<std::uint32_t>(no_term));
    for (std::size_t column = 0; column < tile_columns; column += V::lanes) {
      I top[tile_rows];
      for (I& one : top) one = V::set(static_cast<std::uint32_t>(floor));
      for (std::size_t k = 0; k < groups; ++k) {
        const std::uint32_t* const of_a = a + (first + k) * words * tile_rows;
        const std::uint32_t* const of_b = b + (first + k) * words * tile_columns + column;
        const I y[4]{V::load(of_b), V::load(of_b + tile_columns), V::load(of_b + 2 * tile_columns),
                     V::load(of_b + 3 * tile_columns)};
        const I nonzeros = V::load(of_b + of_nonzeros * tile_columns);
        const I exponents = V::load(&column_exponents[k][column]);
        for (std::size_t i = 0; i < tile_rows; ++i) {
          I s = V::set(of_a[of_sum * tile_rows + i]);
          for (std::size_t w = 0; w < 4; ++w) {
            s = V::add_byte_products(s, y[w], V::set(of_a[w * tile_rows + i]));
          }
          V::store(&sums[k][i][column], V::mul_pairs(s, ones));
          const I both = V::bit_and(nonzeros, V::set(of_a[of_nonzeros * tile_rows + i]));
          const I e = V::add(exponents, V::set(static_cast<std::uint32_t>(row_exponents[k][i])));
          top[i] = V::max(top[i], V::select(V::equal(both, V::zero()), none, e));
        }
      }
      const I bias = V::set(static_cast<std::uint32_t>(binary64.bias + g.model.fraction_bits));
      for (std::size_t i = 0; i < tile_rows; ++i) {
        const I c = V::bit_and(V::load(on.rows[i].data() + column), V::set(0x7FFFFFFF));
        const I field = V::max(V::shift_right(c, 23), V::set(1));
        const I e = V::sub(field, V::set(static_cast<std::uint32_t>(binary32.bias)));
        top[i] = V::max(top[i], V::select(V::equal(c, V::zero()), none, e));
        V::store(&scale_fields[i][column], V::sub(bias, top[i]));
      }
    }
  }

  /// Replaces sums by those with the block's terms. An infinity stays, and so does a NaN.
  void add_terms(TileValues& on) const {
    for (std::size_t i = 0; i < tile_rows; ++i) {
      for (std::size_t column = 0; column < tile_columns; column += 2 * U::lanes) {
        float* const to = on.rows[i].data() + column;
        const Numbers low = with_terms(to, i, column);
        V::store(to, U::narrow(low, with_terms(to + U::lanes, i, column + U::lanes)));
      }
    }
  }
  Numbers with_terms(const float* c, std::size_t i, std::size_t column) const {
    constexpr int least = 149;  // binary32's least number is 2^-149
    const I field = U::load_words(&scale_fields[i][column]);
    const Numbers up = U::number(U::shift_left(field, 52));
    Numbers sum = U::toward_zero(U::mul(U::load_floats(c), up));
    for (std::size_t k = 0; k < groups; ++k) {
      const Numbers scale =
          U::mul(U::number(U::load(&column_scales[k][column])), U::set_number(row_scales[k][i]));
      const Numbers term = U::mul(U::load_integers(&sums[k][i][column]), scale);
      sum = U::add(sum, U::toward_zero(U::mul(term, up)));
    }
    const I down = U::shift_left(U::sub(U::set(2 * binary64.bias + least), field), 52);
    const I in_least = U::bits(U::toward_zero(U::mul(sum, U::number(down))));
    const Numbers cut = U::number(U::and_not(in_least, U::set((std::uint64_t{1} << 29) - 1)));
    return U::add(U::mul(cut, U::set_number(0x1p-149)), U::set_number(0));  // never -0
  }

  static constexpr std::uint64_t quiet_nan = std::uint64_t{0x7FF8} << 48;
};

/// The level's kernel. It calls the portable one for models that it does not know.
template <class V>
struct VectorDotGroupsKernel {
  using Blocks = VectorDotGroups<V>;

  static const ProductKernel& below() { return *own_kernels(Level::portable).dot_groups; }

  static Packing packing(const GemmModel& g) {
    const bool is_own = is_group_sum(g) && keeps_values(g) && g.types.d == binary32 &&
                        g.model.grid == binary32 && g.model.rounding == Rounding::toward_zero;
    if (!is_own) return below().packing(g);
    Packing out{true, g.types.a, g.types.b, sizeof(float)};
    out.row_bytes = out.column_bytes = Blocks::words * sizeof(std::uint32_t) / Blocks::size;
    out.row_step = tile_rows;
    out.column_step = tile_columns;
    out.in_values = true;
    return out;
  }
  static int place(const GemmModel&, int i) { return i; }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    if (!p.in_values) return below().decode(p, f, as, codes, n, out);
    return decode_to_floats<V>(f, codes, n, reinterpret_cast<float*>(out));
  }
  static void pack(const PackedLines& x, std::byte* group) {
    if (!x.packing->in_values) return below().pack(x, group);
    auto* const to = reinterpret_cast<std::uint32_t*>(group);
    for (std::size_t line = 0; line < x.count; ++line) {
      const float* const from = x.line<float>(line);
      for (std::size_t first = 0; first < x.length; first += Blocks::size) {
        std::array<float, Blocks::size> values;
        for (std::size_t i = 0; i < Blocks::size; ++i) {
          const std::int32_t place = x.places[first + i];
          values[i] = place < 0 ? 0.0F : from[place];
        }
        drop_specials<V>(values.data(), Blocks::size);
        pack_group(values, x.are_columns, x.lines,
                   to + first / Blocks::size * Blocks::words * x.lines + line);
      }
    }
  }
  /// Writes the words of a group of one line, `stride` apart.
  static void pack_group(const std::array<float, Blocks::size>& values, bool is_column,
                         std::size_t stride, std::uint32_t* to) {
    std::array<std::uint8_t, Blocks::size> bytes;
    std::uint32_t nonzeros = 0;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < Blocks::size; ++i) {
      const auto number = static_cast<std::int32_t>(2 * values[i]);
      nonzeros |= static_cast<std::uint32_t>(number != 0) << i;
      sum += number;
      bytes[i] = static_cast<std::uint8_t>(is_column ? number + offset : number);
    }
    std::array<std::uint32_t, Blocks::size / sizeof(std::uint32_t)> words;
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (std::size_t w = 0; w < words.size(); ++w) to[w * stride] = words[w];
    to[Blocks::of_nonzeros * stride] = nonzeros;
    to[Blocks::of_sum * stride] = static_cast<std::uint16_t>(-offset * sum);
  }

  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    below().run(g, x, sums, left);
  }
  static void sum(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
                  const TileValues& c, TileValues* stack) {
    Blocks blocks(g, x);
    sum_steps(g, steps, x, c, stack, [&](const SumStep& step, TileValues& sums, bool) {
      blocks.run(x.first + step.first, step.instructions, sums);
    });
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run, &sum};

 private:
  static constexpr std::int32_t offset = 12;  ///< the largest operand, doubled
};

}  // namespace binade::fast
