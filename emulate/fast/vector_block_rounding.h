// SPDX-License-Identifier: Apache-2.0
//
// A tile of blocks to codes or values in one pass: the loop of vector_quantize.h over operands that
// are scaled when they are loaded, and over results that are scaled back when they are stored. A
// vector has the factor of its block, or each number has its own where blocks do not fill vectors:
//
//     numbers    7.5 -3 0.5 1 | 96 0 -2 4       vectors of 4
//     factors    0.5          | 2^-4            one a vector, of its block
//     operands   3.75 …       | 6 0 …           rounded and counted as any others, then times 2, 2^4
//
// Numbers whose scaled values are NaNs or infinities are left to the definition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "emulate/fast/kernels.h"
#include "emulate/fast/vector_block_loops.h"
#include "emulate/fast/vector_block_values.h"
#include "emulate/fast/vector_quantize.h"
#include "emulate/leading_zeros.h"

namespace binade::fast {

/// Lines of numbers under the same scales: where they begin a block does, or they lie within one.
struct BlockTile {
  const BlockQuantizer& to;
  std::size_t n, width;
  const std::uint32_t* factors;  ///< bits of binary32
  const std::uint32_t* scales;   ///< codes; null where results are codes
};

/// One line of a tile.
struct TileLine {
  const float* in;
  std::uint64_t first;
  bool streamed;
  const float* next;  ///< which the caller takes after this one; perhaps null
};

/// Returns a line of the tile that begins with number `begin` of a call's lines.
template <class V>
TileLine line_of_tile(const float* in, std::uint64_t first, const Access& access, std::size_t line,
                      std::size_t begin) {
  const std::size_t at = line * access.stride + begin;
  return {in + at, first + at, access.streamed,
          access.next == nullptr ? nullptr : access.next + at};
}

/// Gives codes of one byte the signs that zeros have, and then two's complement where the format
/// has it. Signs that numbers decide need these, scaled.
template <class V>
void finish_codes(const BlockFormat& format, ZeroSign zero, const float* scaled, std::size_t n,
                  std::byte* codes) {
  const auto each = [&](const auto& step) {
    for (std::size_t i = 0; i < n; ++i) {
      codes[i] = static_cast<std::byte>(step(std::to_integer<std::uint8_t>(codes[i]), i));
    }
  };
  const Format& f = format.element;
  const auto sign = static_cast<std::uint8_t>(1U << (f.bits() - 1));
  const auto of_zeros = [&](std::uint8_t code_of_zero) {
    each([=](std::uint8_t code, std::size_t i) { return scaled[i] == 0 ? code_of_zero : code; });
  };
  if (f.has_negative_zero()) {
    switch (zero) {
      case ZeroSign::kept: break;
      case ZeroSign::of_negative: of_zeros(0); break;
      case ZeroSign::minus_zero: of_zeros(sign); break;
      case ZeroSign::positive:
        each([=](std::uint8_t code, std::size_t) { return code == sign ? std::uint8_t{0} : code; });
        break;
    }
  }
  if (!format.twos_complement) return;
  const auto mask = static_cast<std::uint8_t>(2 * sign - 1);
  each([=](std::uint8_t code, std::size_t) {
    const auto negative = static_cast<std::uint8_t>((0U - (code ^ sign)) & mask);
    return (code & sign) != 0 ? negative : code;
  });
}

/// The numbers of a line as operands of VectorQuantizer.
template <class V>
struct BlockOperands {
  using I = typename V::I;
  using F = typename V::F;
  static constexpr bool is_scaled = true;

  const BlockTile& tile;
  bool divided, flushes, may_vanish;
  bool unsigned_zeros;  ///< of results
  int shift;            ///< number >> shift is its block; 0: each number has its own below
  ZeroSign zero;
  bool plain;  ///< operands are products, and nothing else changes them
  /// What operands are scaled by, bits of binary32, and results, of each block or number.
  const std::uint32_t* before;
  const float* after;
  float of_tensor;  ///< results are scaled by it, too
  const float* in = nullptr;

  static constexpr int log2_of(std::uint64_t x) { return 63 - leading_zeros(x); }
  struct Group {
    const BlockOperands& from;
    std::size_t at;
    I operands[4];

    Group(const BlockOperands& of, std::size_t first) : from(of), at(first) {
      F by[4];
      from.of(from.before, at, by);
      const auto scaled = [&](std::size_t k, F x) {
        return V::bits(from.divided ? V::div(x, by[k]) : V::mul(x, by[k]));
      };
      if (from.flushes) {
        for (std::size_t k = 0; k < 4; ++k) {
          operands[k] = flushed(scaled(k, V::number(flushed(number(k)))));
        }
      } else {
        for (std::size_t k = 0; k < 4; ++k) operands[k] = scaled(k, V::number(number(k)));
      }
      if (from.zero == ZeroSign::kept) return;
      for (I& y : operands) y = from.with_zeros(y);
    }
    bool may_vanish() const { return from.may_vanish; }
    I number(std::size_t k) const { return V::load(from.in + at + k * V::lanes); }
    I operand(std::size_t k) const { return operands[k]; }
    /// Factors have no sign, so that operands have those of the numbers.
    I sign(std::size_t k) const { return from.zero == ZeroSign::kept ? number(k) : operands[k]; }
    void finish(I (&results)[4]) const {
      F by[4];
      from.of(from.after, at, by);
      for (std::size_t k = 0; k < 4; ++k) {
        const F x = V::number(results[k]);
        results[k] = V::bits(V::mul(from.unsigned_zeros ? V::add(x, V::set_number(0)) : x, by[k]));
      }
      if (from.of_tensor == 1) return;
      for (I& x : results) x = V::bits(V::mul(V::number(x), V::set_number(from.of_tensor)));
    }
  };

  float of_number(const auto* numbers, std::size_t at) const {
    return std::bit_cast<float>(numbers[at >> shift]);
  }
  void copy(std::size_t at, std::size_t n, std::uint32_t* out, EventCounts& counts) const {
    for (std::size_t i = 0; i < n; ++i) {
      const float x = in[at + i], by = of_number(before, at + i);
      float y = scaled_number<V>(x, by, divided, flushes);
      counts.to_zero += x != 0 && y == 0 ? 1 : 0;
      if (y == 0 && zero == ZeroSign::of_negative) y = 0.0F;
      if (y == 0 && zero == ZeroSign::minus_zero) y = -0.0F;
      out[i] = std::bit_cast<std::uint32_t>(y);
    }
  }
  void store(const std::byte* rounded, std::size_t at, std::size_t n, std::byte* out) const {
    for (std::size_t i = 0; i < n; ++i) {
      float x;
      std::memcpy(&x, rounded + i * sizeof x, sizeof x);
      x = (unsigned_zeros ? x + 0.0F : x) * of_number(after, at + i) * of_tensor;
      std::memcpy(out + i * sizeof x, &x, sizeof x);
    }
  }
  template <bool codes>
  void define(float x, std::size_t at, std::uint64_t first, const Quantizer&, std::byte* out,
              EventCounts& counts) const {
    const std::size_t block = at / tile.width;
    if constexpr (codes) {
      definitions().block_codes(tile.to, &x, 1, 1, tile.factors + block, first + at, {}, out,
                                counts);
      // A tile's codes are finished when all are made, and twice is back again.
      finish_codes<V>(tile.to.format, ZeroSign::kept, nullptr, 1, out);
    } else {
      definitions().block_quantize(tile.to, &x, 1, 1, tile.factors + block, tile.scales + block,
                                   first + at, {}, reinterpret_cast<float*>(out), counts);
    }
  }

 private:
  static constexpr int group_shift = log2_of(4 * V::lanes);

  void of(const auto* numbers, std::size_t at, F (&out)[4]) const {
    if (shift >= group_shift) {
      const F by = V::set_number(std::bit_cast<float>(numbers[at >> shift]));
      for (F& x : out) x = by;
      return;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t first = at + k * V::lanes;
      out[k] = shift == 0 ? V::number(V::load(numbers + first))
                          : V::set_number(std::bit_cast<float>(numbers[first >> shift]));
    }
  }
  /// Puts zeros of their signs in the places of subnormal numbers.
  static I flushed(I x) {
    const auto is_small = V::equal(V::bit_and(x, V::set(block_steps::infinity)), V::zero());
    return V::select(is_small, V::bit_and(x, V::set(~block_steps::magnitude)), x);
  }
  /// Gives operands that are zero the sign that their elements have.
  I with_zeros(I y) const {
    const auto is_zero = V::equal(V::bit_and(y, V::set(block_steps::magnitude)), V::zero());
    const std::uint32_t sign = zero == ZeroSign::minus_zero ? ~block_steps::magnitude : 0;
    return V::select(is_zero, V::set(sign), y);
  }
};

/// The usual ones: vectors are products with the factors of their blocks, and nothing else changes
/// them.
template <class V>
struct UsualOperands : BlockOperands<V> {
  using I = typename V::I;

  std::uint32_t block_of[4];  ///< of each vector of a group, from the group's first one on

  explicit UsualOperands(const BlockOperands<V>& of) : BlockOperands<V>(of) {
    for (std::size_t k = 0; k < 4; ++k) {
      block_of[k] = static_cast<std::uint32_t>(k * V::lanes >> of.shift);
    }
  }

  struct Group {
    const UsualOperands& from;
    const float* in;
    std::size_t block;  ///< of the first vector

    Group(const UsualOperands& of, std::size_t at)
        : from(of), in(of.in + at), block(at >> of.shift) {}
    bool may_vanish() const { return from.may_vanish; }
    I number(std::size_t k) const { return V::load(in + k * V::lanes); }
    I sign(std::size_t k) const { return number(k); }
    I operand(std::size_t k) const {
      const std::uint32_t* const before = from.before + block;
      const auto by = V::set_number(std::bit_cast<float>(before[from.block_of[k]]));
      return V::bits(V::mul(V::number(number(k)), by));
    }
    void finish(I (&results)[4]) const {
      const float* const after = from.after + block;
      for (std::size_t k = 0; k < 4; ++k) {
        const auto by = V::set_number(after[from.block_of[k]]);
        results[k] = V::bits(V::mul(V::number(results[k]), by));
      }
      if (from.of_tensor == 1) return;
      for (I& x : results) x = V::bits(V::mul(V::number(x), V::set_number(from.of_tensor)));
    }
  };
};

/// Returns the numbers of a tile's blocks, or with `each` those of its elements, in `out` or where
/// they are.
template <class V, class T>
const T* numbers_of(const BlockTile& tile, const T* of_blocks, bool each, T* out) {
  if (!each || tile.width == 1) return of_blocks;
  for (std::size_t at = 0; at < tile.n; at += tile.width) {
    std::fill(out + at, out + std::min(at + tile.width, tile.n), *of_blocks++);
  }
  return out;
}

/// Returns whether the largest numbers of many blocks overflow: scales are powers of two that may
/// lie below what the block needs.
inline bool overflows_often(const BlockQuantizer& to) {
  const ScaleRounding how = to.rule.rounding;
  return to.format.scale == e8m0 && (how == ScaleRounding::down || how == ScaleRounding::half_up ||
                                     how == ScaleRounding::half_up_to_2);
}

/// How a level's vectors round blocks: a Tile of them is prepared once, and then rounds its lines.
/// `codes` and `values` return false, with nothing done, where vectors do not know them. A level
/// without vectors knows none.
template <class V>
struct BlockRounding {
  struct Tile {
    Tile(const BlockRounding&, const BlockTile&, const float* = nullptr, float = 1) {}
    static bool codes(const TileLine&, std::byte*, EventCounts&) { return false; }
    static bool values(const TileLine&, float*, EventCounts&) { return false; }
  };
  BlockRounding(const Quantizer&, bool) {}
};

template <class V>
requires requires { V::lanes; }
struct BlockRounding<V> {
  using Rounding = VectorQuantizer<V, float, BlockOperands<V>>;
  using Usual = VectorQuantizer<V, float, UsualOperands<V>>;

  TileQuantizer<float> quantizer;
  CodeLanes<V, float> code;
  typename Rounding::Run to_numbers, to_codes = nullptr;
  typename Usual::Run usual_to_numbers = nullptr, usual_to_codes = nullptr;

  BlockRounding(const Quantizer& element, bool overflows_often)
      : quantizer(element),
        code(quantizer),
        to_numbers(Rounding::template run_of<AsNumbers<V>>(quantizer)) {
    constexpr auto even = binade::Rounding::ties_to_even;
    const bool has_bytes = code.known && code.bytes == 1;
    if (has_bytes) to_codes = Rounding::template run_of<typename V::Bytes>(quantizer);
    if (to_numbers == nullptr || element.attributes.rounding != even) return;
    const auto method = quantizer.plan.method;
    usual_to_numbers = Usual::template run_of<AsNumbers<V>, even>(method, true);
    if (!has_bytes) return;
    usual_to_codes = Usual::template run_of<typename V::Bytes, even>(method, true);
    if (!overflows_often) return;
    to_numbers = Rounding::template run_of<AsSmallNumbers<V>, even>(method, true);
    usual_to_numbers = Usual::template run_of<AsSmallNumbers<V>, even>(method, true);
  }

  struct Tile {
    const BlockRounding& rounding;
    const BlockTile blocks;
    std::array<std::uint32_t, block_tile> before;
    std::array<float, block_tile> after;
    std::optional<BlockOperands<V>> operands;

    /// `scales` are those of the blocks as numbers; null where results are codes.
    Tile(const BlockRounding& how, const BlockTile& tile, const float* scales = nullptr,
         float of_tensor = 1)
        : rounding(how), blocks(tile), operands(operands_of(blocks, before)) {
      if (!operands || scales == nullptr) return;
      operands->after = numbers_of<V>(blocks, scales, operands->shift == 0, after.data());
      operands->of_tensor = of_tensor;
    }
    Tile(const Tile&) = delete;  // operands point into it

    bool codes(const TileLine& line, std::byte* out, EventCounts& counts) {
      if (rounding.to_codes == nullptr || !operands) return false;
      operands->in = line.in;
      run(rounding.to_codes, rounding.usual_to_codes, out, &rounding.code, line, line.streamed,
          counts);
      return true;
    }
    void run(auto any, auto usual, std::byte* out, const CodeLanes<V, float>* code,
             const TileLine& line, bool streamed, EventCounts& counts) const {
      if (usual != nullptr && operands->plain) {
        return usual(
            UsualOperands<V>(*operands), out,
            {rounding.quantizer, code, line.first, blocks.n, streamed, counts, {next(line)}});
      }
      any(*operands, out,
          {rounding.quantizer, code, line.first, blocks.n, streamed, counts, {next(line)}});
    }
    bool values(const TileLine& line, float* out, EventCounts& counts) {
      if (rounding.to_numbers == nullptr || !operands) return false;
      operands->in = line.in;
      const std::size_t n = blocks.n;
      std::array<float, block_tile> apart;
      const bool direct = line.streamed && is_aligned<V>(out);
      float* const to = line.streamed && !direct ? apart.data() : out;
      run(rounding.to_numbers, rounding.usual_to_numbers, reinterpret_cast<std::byte*>(to),
          &rounding.code, line, direct, counts);
      if (to != out) {
        stream_out<V>(reinterpret_cast<const std::byte*>(to), reinterpret_cast<std::byte*>(out),
                      n * sizeof(float));
      }
      return true;
    }
  };

 private:
  static const std::byte* next(const TileLine& line) {
    return reinterpret_cast<const std::byte*>(line.next);
  }
  static std::optional<BlockOperands<V>> operands_of(
      const BlockTile& tile, std::array<std::uint32_t, block_tile>& before) {
    const std::size_t blocks = (tile.n + tile.width - 1) / tile.width;
    const bool divided = divides(tile.to.rule);
    std::uint32_t least = ~0U, most = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      least = std::min(least, tile.factors[i]);
      most = std::max(most, tile.factors[i]);
    }
    if (most > block_steps::magnitude) return {};  // some have a sign
    const ElementCast& cast = tile.to.rule.cast;
    const bool is_positive = cast.zero == ZeroSign::positive;
    const bool is_one = tile.n <= tile.width;
    const bool each =
        !is_one && (tile.width % V::lanes != 0 || (tile.width & (tile.width - 1)) != 0);
    return BlockOperands<V>{
        .tile = tile,
        .divided = divided,
        .flushes = tile.to.rule.flushes,
        .may_vanish =
            tile.to.rule.flushes || (divided ? most > block_steps::one : least < block_steps::one),
        .unsigned_zeros = is_positive || tile.to.format.twos_complement,
        .shift = is_one ? 31
                 : each ? 0
                        : BlockOperands<V>::log2_of(tile.width),
        .zero = is_positive ? ZeroSign::kept : cast.zero,
        .plain = !divided && !tile.to.rule.flushes && !each && !is_positive &&
                 !tile.to.format.twos_complement && (is_positive || cast.zero == ZeroSign::kept),
        .before = numbers_of<V>(tile, tile.factors, each, before.data()),
        .after = nullptr,
        .of_tensor = 1};
  }
};

}  // namespace binade::fast
