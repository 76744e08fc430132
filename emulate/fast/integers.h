// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of integers in 32 bits: integer_dot of integer_dot.h, equal in every bit. Operands lie in words as
// many at once as a word has room for:
//
//     s8 u8 s4 u4   | x1: 16 bits | x0: 16 bits |   products of two pairs, added: below 2^17
//     b1            | 32 bits                   |   of two words: the ones of a & b, or of a ^ b
//
// A sum that wraps does so in any order. One that saturates does at the end of an instruction, whose own products, at
// most 256, are far from the ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/products.h"
#include "emulate/fast/sparse_lines.h"

namespace binade::fast {

/// Of an operand in a word.
constexpr int bits_in_word(const Format& f) { return f == b1 ? 1 : 16; }

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

/// Operands that were taken apart are of 16 bits each, ones and zeros too.
constexpr Packing integer_packing(const GemmModel& g, std::size_t column_step) {
  if (!is_integer_sum(g)) return {};
  const std::size_t bytes = bits_in_word(g.types.a) == 1 ? 1 : sizeof(std::int16_t);
  return {true,  g.types.a, g.types.b,   sizeof(std::int16_t), bytes,
          bytes, 1,         column_step, g.model.sparse_group};
}

/// A line's words, a stride apart.
template <int bits>
void pack_words(const PackedLine& line, std::uint32_t* to, std::size_t stride) {
  constexpr std::size_t in_word = 32 / bits;
  constexpr std::uint32_t ones = (std::uint32_t{1} << bits) - 1;
  const auto* const from = reinterpret_cast<const std::int16_t*>(line.operands);
  const std::int32_t* places = line.places;
  to += line.first / in_word * stride;
  for (std::size_t w = 0; w < line.count / in_word; ++w, places += in_word) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < in_word; ++i) {
      const std::int16_t x = places[i] < 0 ? std::int16_t{0} : from[places[i]];
      word |= (static_cast<std::uint32_t>(x) & ones) << (bits * i);
    }
    to[w * stride] = word;
  }
}

/// c and an instruction's products.
constexpr std::uint32_t integer_sum(const IntegerModel& model, std::uint32_t c,
                                    std::int32_t products) {
  if (!model.satfinite) return c + static_cast<std::uint32_t>(products);
  const std::int64_t sum = std::int64_t{static_cast<std::int32_t>(c)} + products;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(sum, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}));
}

}  // namespace binade::fast
