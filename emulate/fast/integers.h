// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of integers in 32 bits: integer_dot of emulate/integer_dot.h, equal in every
// bit. A 32-bit word holds two operands of up to 8 bits, or 32 of one bit:
//
//     s8 u8 s4 u4   | x1: 16 bits | x0: 16 bits |   products of two pairs, added: below 2^17
//                   |    FFFD     |    0005     |   -3 and 5; times 7 and 2: -21 + 10 = -11
//     b1            | 32 bits                   |   of two words: the ones of a & b, or of a ^ b, counted
//
// A sum that wraps around may be added in any order. A saturating sum is held within 32 bits at the
// end of each instruction, whose own products, at most 256, are far from the ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/products.h"
#include "emulate/fast/sparse_lines.h"

namespace binade::fast {

/// Returns how many bits an operand has in a word.
constexpr int bits_in_word(const Format& f) { return f == b1 ? 1 : 16; }

/// Returns whether this header's sums know a model.
constexpr bool is_integer_sum(const GemmModel& g) {
  const DotModel& model = g.model;
  const auto is_known = [](const Format& f) { return is_integer(f) && f.bits() <= 8; };
  const int bits = bits_in_word(g.types.a);
  return model.recipe == Recipe::exact_integer && !model.c_last && !model.through_f32 &&
         (model.sparse_group == 0 ||
          (is_known_group(model.sparse_group) && !model.integer.exclusive_or)) &&
         model.scales == WgmmaScales{} && is_known(g.types.a) && is_known(g.types.b) &&
         g.types.c == s32 && g.types.d == s32 && bits == bits_in_word(g.types.b) &&
         (bits == 1 || !model.integer.exclusive_or) && g.k * bits % 32 == 0;
}

/// Returns how such a model's operands are packed. Decoded operands have 16 bits each, also those
/// of b1.
constexpr Packing integer_packing(const GemmModel& g, std::size_t column_step) {
  if (!is_integer_sum(g)) return {};
  const std::size_t bytes = bits_in_word(g.types.a) == 1 ? 1 : sizeof(std::int16_t);
  Packing out{true, g.types.a, g.types.b, sizeof(std::int16_t), bytes, bytes, 1, column_step};
  out.sparse_group = g.model.sparse_group;
  return out;
}

/// Packs lines into words, word [line][i], or [i][line] where lines lie side by side.
template <int bits>
void pack_words(const PackedLines& x, std::uint32_t* group, bool side_by_side) {
  constexpr std::size_t in_word = 32 / bits, some = 256;
  constexpr std::uint32_t ones = (std::uint32_t{1} << bits) - 1;
  const std::size_t stride = side_by_side ? x.lines : 1;
  std::array<std::int16_t, some> placed;
  for (std::size_t line = 0; line < x.count; ++line) {
    const auto* const from = x.line<std::int16_t>(line);
    std::uint32_t* to = group + line * (side_by_side ? 1 : x.length / in_word);
    for (std::size_t first = 0; first < x.length; first += some) {
      const std::size_t n = std::min(some, x.length - first);
      const std::int32_t* const places = x.places + first;
      for (std::size_t i = 0; i < n; ++i) {
        placed[i] = places[i] < 0 ? std::int16_t{0} : from[places[i]];
      }
      if (!x.are_columns && x.packing->sparse_group != 0) {
        keep_half(x.packing->sparse_group, n,
                  [&](std::size_t i) -> std::int16_t& { return placed[i]; });
      }
      for (std::size_t at = 0; at < n; at += in_word, to += stride) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < in_word; ++i) {
          word |= (static_cast<std::uint32_t>(placed[at + i]) & ones) << (bits * i);
        }
        *to = word;
      }
    }
  }
}
inline void pack_integers(const PackedLines& x, std::byte* group, bool side_by_side) {
  auto* const words = reinterpret_cast<std::uint32_t*>(group);
  if (bits_in_word(x.format()) == 1) return pack_words<1>(x, words, side_by_side);
  pack_words<16>(x, words, side_by_side);
}

/// Returns c plus the sum of an instruction's products: wrapped, or held within 32 bits.
constexpr std::uint32_t integer_sum(const IntegerModel& model, std::uint32_t c,
                                    std::int32_t products) {
  if (!model.satfinite) return c + static_cast<std::uint32_t>(products);
  const std::int64_t sum = std::int64_t{static_cast<std::int32_t>(c)} + products;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(sum, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}));
}

}  // namespace binade::fast
