// SPDX-License-Identifier: Apache-2.0
//
// `block_codes` and `block_quantize` of emulate/block_arrays.h and `pack_4` of block_packing.h, the
// same bytes and counts. A level's vectors do a tile in one pass (vector_block_rounding.h). What
// they do not know, and the portable level, scale a tile, which the level's own `encode` or
// `quantize` rounds:
//
//     numbers    7.5  -3  0.5  1 | 96  0  -2  4      a tile, of which a block is 4 here
//     scaled     3.75 …          | 6   0  …          each times the factor of its block
//     codes      6    …          | 7   0  …          by the level's kernel of arrays
//
// Scaled numbers that are NaNs or infinities are set aside for the definition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "emulate/fast/kernels.h"
#include "emulate/fast/vector_block_amaxes.h"
#include "emulate/fast/vector_block_loops.h"
#include "emulate/fast/vector_block_rounding.h"
#include "emulate/fast/vector_block_values.h"

namespace binade::fast {

/// What happened to numbers when they were scaled.
struct ScaledNumbers {
  std::uint64_t vanished = 0;  ///< were not zero and are
  bool nonfinite = false;      ///< some are a NaN or an infinity
};

/// Scales n numbers, which begin within a block where `width` is larger than n.
template <class V>
ScaledNumbers scale_numbers(const ScaleRule& rule, const float* in, std::size_t n,
                            std::size_t width, const float* factors, float* out) {
  const bool divided = divides(rule);
  if (rule.flushes) {
    each_of_blocks<V>(in, n, width, factors, out,
                      [=](float x, float by) { return scaled_number<V>(x, by, divided, true); });
  } else if (divided) {
    each_of_blocks<V>(in, n, width, factors, out, [](float x, float by) { return x / by; });
  } else {
    each_of_blocks<V>(in, n, width, factors, out, [](float x, float by) { return x * by; });
  }
  std::uint32_t vanished = 0, seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t before = std::bit_cast<std::uint32_t>(in[i]) & block_steps::magnitude;
    const std::uint32_t after = std::bit_cast<std::uint32_t>(out[i]) & block_steps::magnitude;
    vanished += static_cast<std::uint32_t>(before != 0) & static_cast<std::uint32_t>(after == 0);
    seen |= after + 0x00800000;  // reaches the sign bit from infinity on
  }
  return {vanished, seen > block_steps::magnitude};
}

/// Returns how elements are rounded once they are scaled.
template <class V>
Quantizer element_quantizer(const BlockQuantizer& to) {
  Quantizer out{.format = to.format.element,
                .attributes = to.attributes,
                .seed = to.seed,
                .stream = to.stream};
  if (out.attributes.rounding == Rounding::ties_to_even) {
    out.attributes.rounding = to.rule.cast.ties;
  }
  return out;
}

/// Scales a tile and puts zeros in the places of NaNs and infinities, which it returns. These are
/// counted as zeros when the tile is rounded, which is taken back here.
template <class V>
std::vector<std::size_t> scale_tile(const BlockQuantizer& to, const float* in, std::size_t n,
                                    std::size_t width, const float* factors, float* scaled,
                                    EventCounts& counts) {
  const ScaledNumbers what = scale_numbers<V>(to.rule, in, n, width, factors, scaled);
  counts.to_zero += what.vanished;
  std::vector<std::size_t> specials;
  for (std::size_t i = 0; what.nonfinite && i < n; ++i) {
    const std::uint32_t y = std::bit_cast<std::uint32_t>(scaled[i]) & block_steps::magnitude;
    if (y < block_steps::infinity) continue;
    specials.push_back(i);
    scaled[i] = 0;
  }
  counts.values -= specials.size();
  return specials;
}

template <class V, auto encode>
void block_codes_tiles(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                       const std::uint32_t* factors, std::uint64_t first, const Access& access,
                       std::byte* out, EventCounts& counts) {
  if (!knows_codes(to)) {
    return definitions().block_codes(to, in, n, width, factors, first, {}, out, counts);
  }
  const Quantizer element = element_quantizer<V>(to);
  const BlockRounding<V> vectors(element, overflows_often(to));
  const ZeroSign zero = to.rule.cast.zero;
  const std::size_t bytes = code_bytes(to.format.element);
  const bool streams = access.streamed && bytes == 1, positive = zero == ZeroSign::positive;
  const bool is_direct = streams && !positive && !to.format.twos_complement;
  each_block_tile<V>(n, width, [&](std::size_t begin, std::size_t count) {
    const std::uint32_t* const of_tile = factors + begin / width;
    typename BlockRounding<V>::Tile tile(vectors, {to, count, width, of_tile, nullptr});
    for (std::size_t line = 0; line < access.lines; ++line) {
      std::byte* const codes = out + (line * access.stride_out + begin) * bytes;
      TileLine numbers = line_of_tile<V>(in, first, access, line, begin);
      // Codes that are finished first, or do not fill vectors, go past the caches from a copy.
      std::array<std::byte, block_tile> copy;
      numbers.streamed = is_direct && is_aligned<V>(codes);
      std::byte* const made = streams && !numbers.streamed ? copy.data() : codes;
      if (tile.codes(numbers, made, counts)) {
        finish_codes<V>(to.format, positive ? zero : ZeroSign::kept, nullptr, count, made);
        if (made != codes) stream_out<V>(made, codes, count);
        continue;
      }
      std::array<float, block_tile> scaled, by;
      std::memcpy(by.data(), of_tile, (count + width - 1) / width * sizeof(float));
      const std::vector<std::size_t> specials =
          scale_tile<V>(to, numbers.in, count, width, by.data(), scaled.data(), counts);
      encode(scaled.data(), codes, count, numbers.first, element, counts);
      finish_codes<V>(to.format, zero, scaled.data(), count, codes);
      for (const std::size_t i : specials) {
        definitions().block_codes(to, numbers.in + i, 1, 1, of_tile + i / width, numbers.first + i,
                                  {}, codes + i * bytes, counts);
      }
    }
  });
  end_streams<V>(access.streamed);
}

/// Gives numbers that are zero the signs that their codes would have.
template <class V>
void finish_zeros(const BlockQuantizer& to, const float* scaled, std::size_t n, float* rounded) {
  const ZeroSign zero = to.rule.cast.zero;
  if (to.format.twos_complement || zero == ZeroSign::positive) {
    for (std::size_t i = 0; i < n; ++i) rounded[i] += 0.0F;
  } else if (zero != ZeroSign::kept && to.format.element.has_negative_zero()) {
    const float of_zeros = zero == ZeroSign::minus_zero ? -0.0F : 0.0F;
    for (std::size_t i = 0; i < n; ++i) rounded[i] = scaled[i] == 0 ? of_zeros : rounded[i];
  }
}

/// Multiplies rounded numbers by their scales; these are finite.
template <class V>
void unscale_numbers(const float* rounded, std::size_t n, std::size_t width, const float* scales,
                     float decode, float* out) {
  each_of_blocks<V>(rounded, n, width, scales, out,
                    [=](float x, float scale) { return x * scale * decode; });
}

template <class V, auto encode, auto quantize, auto decode>
void block_quantize_tiles(const BlockQuantizer& to, const float* in, std::size_t n,
                          std::size_t width, const std::uint32_t* factors,
                          const std::uint32_t* scales, std::uint64_t first, const Access& access,
                          float* out, EventCounts& counts) {
  const bool known = knows_codes(to) && value_plan(to.format, to.tensor.decode).in_f32 &&
                     to.attributes.saturation == Saturation::finite &&
                     (to.tensor.decode & block_steps::magnitude) < block_steps::infinity;
  const Quantizer element = element_quantizer<V>(to);
  const BlockRounding<V> vectors(element, overflows_often(to));
  const auto tensor = std::bit_cast<float>(to.tensor.decode);
  const std::size_t bytes = code_bytes(to.format.element);
  each_block_tile<V>(n, width, [&](std::size_t begin, std::size_t count) {
    std::array<float, block_tile> floats;
    const std::size_t blocks = (count + width - 1) / width;
    const std::uint32_t *of_tile = factors + begin / width, *tile_scales = scales + begin / width;
    scale_values<V, decode>(to.format.scale, tile_scales, blocks, floats.data());
    const bool by_codes =
        !known || largest_magnitude<V>(floats.data(), blocks) >= block_steps::infinity;
    typename BlockRounding<V>::Tile tile(vectors, {to, count, width, of_tile, tile_scales},
                                         floats.data(), tensor);
    for (std::size_t line = 0; line < access.lines; ++line) {
      const TileLine numbers = line_of_tile<V>(in, first, access, line, begin);
      float* const values = out + line * access.stride_out + begin;
      if (by_codes) {
        std::vector<std::byte> codes(count * bytes);
        block_codes_tiles<V, encode>(to, numbers.in, count, width, of_tile, numbers.first, {},
                                     codes.data(), counts);
        block_values_tiles<V, decode>(to.format, codes.data(), count, width, tile_scales,
                                      to.tensor.decode, access.streamed, values);
        continue;
      }
      if (tile.values(numbers, values, counts)) continue;
      std::array<float, block_tile> scaled, rounded, by;
      std::memcpy(by.data(), of_tile, blocks * sizeof(float));
      const std::vector<std::size_t> specials =
          scale_tile<V>(to, numbers.in, count, width, by.data(), scaled.data(), counts);
      quantize(scaled.data(), rounded.data(), count, numbers.first, element, counts);
      finish_zeros<V>(to, scaled.data(), count, rounded.data());
      std::vector<float> specials_in;  // out may be in
      for (const std::size_t i : specials) specials_in.push_back(numbers.in[i]);
      unscale_numbers<V>(rounded.data(), count, width, floats.data(), tensor, values);
      for (std::size_t k = 0; k < specials.size(); ++k) {
        const std::size_t i = specials[k], block = i / width;
        definitions().block_quantize(to, &specials_in[k], 1, 1, of_tile + block,
                                     tile_scales + block, numbers.first + i, {}, values + i,
                                     counts);
      }
    }
  });
  end_streams<V>(access.streamed);
}

template <class V>
void pack_4_loops(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order) {
  const int first = order == NibbleOrder::low_first ? 0 : 4;
  std::size_t i = 0;
  if constexpr (requires { V::lanes; }) {
    const auto weights = static_cast<std::uint16_t>(1U << first | 0x1000U >> first);
    const auto low = V::set(0x0F0F0F0F);
    for (; i + V::bytes <= n / 2; i += V::bytes) {
      const auto a = V::bit_and(V::load(codes + 2 * i), low);
      const auto b = V::bit_and(V::load(codes + 2 * i + V::bytes), low);
      V::store(out + i, V::Bytes::joined(a, b, weights));
    }
  }
  for (; i < n / 2; ++i) {
    std::uint16_t two;
    std::memcpy(&two, codes + 2 * i, sizeof two);
    constexpr bool little = std::endian::native == std::endian::little;
    const unsigned low = (little ? two : two >> 8) & 0xFU, high = (little ? two >> 8 : two) & 0xFU;
    out[i] = static_cast<std::byte>(low << first | high << (4 - first));
  }
  if (n % 2 == 1) binade::pack_4(codes + n - 1, 1, out + n / 2, order);
}

}  // namespace binade::fast
