// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of integers (integers.h; integer_dot of emulate/integer_dot.h, equal in every
// bit) by vectors of V, a lane for each column. V is the level's vector unit (avx2.h, avx512.h): a
// struct of types and functions for its vectors.
//
//     rows     a[word][row]         ── the same in every lane ─┐   two products a lane, and their sum,
//     columns  b[word][32 columns]  ── a lane each ────────────┴─  or 32 bits, counted by bytes: s
//     c        c + s, wrapped, or at the end of each instruction held within 32 bits
//
//     b1       a & b = B0000007: bytes B0 00 00 07, by halves 1011 0000 … 0111, looked up: 3 0 0 3, the lane's total 6
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/integers.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"

namespace binade::fast {

/// Words of two 16-bit numbers: `more` adds a product of words to a sum, `total` makes the count of
/// a lane.
template <class V>
struct PairProducts {
  using I = typename V::I;

  static constexpr int bits = 16;
  static constexpr std::size_t most_words = SIZE_MAX;  ///< limit of words in one sum

  static I more(I sum, I a, I b) { return V::add(sum, V::mul_pairs(a, b)); }
  static I total(I sum) { return sum; }
};

/// Words of 32 one-bit numbers. Each byte of a sum counts the ones in its byte of the words, at
/// most eight a word, so that 31 words have room in it (248).
template <class V, bool exclusive_or>
struct BitCounts {
  using I = typename V::I;

  static constexpr int bits = 1;
  static constexpr std::size_t most_words = 31;
  alignas(16) static constexpr std::uint8_t ones_of[16]{0, 1, 1, 2, 1, 2, 2, 3,
                                                        1, 2, 2, 3, 2, 3, 3, 4};

  I ones, low;

  BitCounts() : ones(V::table(ones_of)), low(V::set(0x0F0F0F0F)) {}

  I more(I sum, I a, I b) const {
    I x;
    if constexpr (exclusive_or) {
      x = V::bit_xor(a, b);
    } else {
      x = V::bit_and(a, b);
    }
    const I of_low = V::look_up(ones, V::bit_and(x, low));
    const I of_high = V::look_up(ones, V::bit_and(V::shift_right(x, 4), low));
    return V::add(sum, V::add(of_low, of_high));
  }
  static I total(I sum) {
    const I even = V::set(0x00FF00FF);
    const I pairs = V::add(V::bit_and(sum, even), V::bit_and(V::shift_right(sum, 8), even));
    return V::mul_pairs(pairs, V::set(0x00010001));
  }
};

/// The integer sums of a tile.
template <class V>
struct VectorIntegers {
  using I = typename V::I;

  /// The number of vectors of columns that are summed at once, limited by the registers for sums of
  /// four rows.
  static constexpr std::size_t at_once = 2;
  static constexpr std::size_t width = at_once * V::lanes;

  const GemmModel& g;
  const ProductTile& x;

  template <int height, class Step>
  void run(TileSums& sums, const TileMask& left, const Step& step) const {
    constexpr std::size_t in_word = 32 / Step::bits;
    const bool saturates = g.model.integer.satfinite;
    const std::size_t of_instruction = static_cast<std::size_t>(g.k) / in_word;
    const std::size_t words = static_cast<std::size_t>(x.instructions) * of_instruction;
    const std::size_t some = saturates ? of_instruction : std::min(words, Step::most_words);
    const std::size_t before = x.first / in_word;
    const auto* const a = reinterpret_cast<const std::uint32_t*>(x.rows) + before * height;
    const auto* const b = reinterpret_cast<const std::uint32_t*>(x.columns) + before * tile_columns;
    const auto columns = static_cast<std::size_t>(x.column_count);
    alignas(V::bytes) std::array<std::array<std::uint32_t, tile_columns>, height> c{};
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < columns; ++j) c[i][j] = static_cast<std::uint32_t>(sums[i][j]);
    }
    for (std::size_t column = 0; column < columns; column += width) {
      for (std::size_t at = 0; at < words; at += some) {
        I s[height][at_once];
        for (auto& row : s) {
          for (I& sum : row) sum = V::zero();
        }
        add<height>(a + at * height, b + at * tile_columns + column, std::min(some, words - at),
                    step, s);
        for (std::size_t i = 0; i < height; ++i) {
          for (std::size_t j = 0; j < at_once; ++j) {
            std::uint32_t* const to = c[i].data() + column + j * V::lanes;
            const I sum = V::load(to), more = step.total(s[i][j]);
            V::store(to, saturates ? add_saturated(sum, more) : V::add(sum, more));
          }
        }
      }
    }
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        if ((left[i] >> j & 1) == 0) sums[i][j] = c[i][j];
      }
    }
  }

  /// Runs `step` on a tile of 1 to 4 rows.
  template <class Step>
  void run(TileSums& sums, const TileMask& left, const Step& step) const {
    switch (x.row_count) {
      case 1: return run<1>(sums, left, step);
      case 2: return run<2>(sums, left, step);
      case 3: return run<3>(sums, left, step);
      default: return run<4>(sums, left, step);
    }
  }

 private:
  template <int height, class Step>
  static void add(const std::uint32_t* a, const std::uint32_t* b, std::size_t words,
                  const Step& step, I (&s)[height][at_once]) {
    for (std::size_t w = 0; w < words; ++w, a += height, b += tile_columns) {
      I y[at_once];
      for (std::size_t j = 0; j < at_once; ++j) y[j] = V::load(b + j * V::lanes);
      for (std::size_t i = 0; i < height; ++i) {
        const I factor = V::set(a[i]);
        for (std::size_t j = 0; j < at_once; ++j) s[i][j] = step.more(s[i][j], factor, y[j]);
      }
    }
  }
  /// Adds signed lanes; a sum that overflows becomes the nearer end of the range. It overflowed
  /// where both terms have the sign that the wrapped sum does not have.
  static I add_saturated(I a, I b) {
    const I sum = V::add(a, b);
    const I end = V::select_by_sign(a, V::set(0x80000000), V::set(0x7FFFFFFF));
    return V::select_by_sign(V::bit_and(V::bit_xor(a, sum), V::bit_xor(b, sum)), end, sum);
  }
};

/// The level's kernel; it knows the same models as the portable one.
template <class V>
struct VectorIntegersKernel {
  static const ProductKernel& below() { return *own_kernels(Level::portable).integers; }

  static Packing packing(const GemmModel& g) { return integer_packing(g, tile_columns); }
  static int place(const GemmModel&, int i) { return i; }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    return below().decode(p, f, as, codes, n, out);
  }
  static void pack(const PackedLines& lines, std::byte* group) {
    pack_integers(lines, group, true);
  }
  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    const VectorIntegers<V> lines{g, x};
    if (bits_in_word(g.types.a) != 1) return lines.run(sums, left, PairProducts<V>());
    if (g.model.integer.exclusive_or) return lines.run(sums, left, BitCounts<V, true>());
    lines.run(sums, left, BitCounts<V, false>());
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run, nullptr};
};

}  // namespace binade::fast
