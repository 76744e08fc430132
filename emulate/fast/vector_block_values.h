// SPDX-License-Identifier: Apache-2.0
//
// `block_values` of emulate/block_arrays.h, the same bits: the level's own `decode` reads a tile of
// elements, which are multiplied by the scales of their blocks, in a type in which that is exact
// until the last rounding (ValuePlan).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/vector_block_loops.h"

namespace binade::fast {

/// Writes scales as floats.
template <class V, auto decode>
void scale_values(const Format& f, const std::uint32_t* codes, std::size_t n, float* out) {
  if (f == binary32) return static_cast<void>(std::memcpy(out, codes, n * sizeof(float)));
  if (f == e8m0) {
    // Bit 22 makes 2^-127 of code 0, and a NaN of code 0xFF, which is an infinity without it.
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t at_end = ((codes[i] + 1) & 0xFE) == 0 ? 0x00400000 : 0;
      out[i] = std::bit_cast<float>((codes[i] & 0xFF) << 23 | at_end);
    }
    return;
  }
  std::array<std::byte, block_tile> narrow;
  for (std::size_t i = 0; i < n; ++i) narrow[i] = static_cast<std::byte>(codes[i]);
  decode(narrow.data(), out, n, f);
}

/// Returns element · scale · decode in Wide, with the one NaN that the definition has.
template <class V, class T, class Wide>
T scaled_value(float element, float scale, Wide decode) {
  using Bits = typename Carrier<T>::Bits;
  constexpr auto infinity = static_cast<Bits>(infinity_bits(Carrier<T>::format, false));
  constexpr auto nan = static_cast<Bits>(nan_bits(Carrier<T>::format, NanResult::quiet));
  const Wide product = static_cast<Wide>(element) * static_cast<Wide>(scale) * decode;
  const auto bits = std::bit_cast<Bits>(static_cast<T>(product));
  return std::bit_cast<T>(static_cast<Bits>(bits << 1) > static_cast<Bits>(infinity << 1) ? nan
                                                                                          : bits);
}

/// Multiplies elements by their scales. A function of its own, which compilers make vectors of.
template <class V, class T>
[[gnu::noinline]] void scale_elements(const ValuePlan& plan, const float* elements, std::size_t n,
                                      std::size_t width, const float* scales, float tensor,
                                      T* out) {
  if (plan.in_f32 && sizeof(T) == sizeof(float)) {
    each_of_blocks<V>(elements, n, width, scales, out,
                      [=](float x, float by) { return scaled_value<V, T>(x, by, tensor); });
  } else {
    each_of_blocks<V>(elements, n, width, scales, out,
                      [=](float x, float by) { return scaled_value<V, T>(x, by, double{tensor}); });
  }
}

template <class V>
bool is_aligned(const void* out) {
  if constexpr (requires { V::bytes; }) {
    return reinterpret_cast<std::uintptr_t>(out) % V::bytes == 0;
  }
  return false;
}

/// Orders the stores past the caches.
template <class V>
void end_streams(bool streamed) {
  if constexpr (requires { V::streamed(); }) {
    if (streamed) V::streamed();
  }
}

/// Copies what a tile made to its place past the caches.
template <class V>
void stream_out(const std::byte* from, std::byte* to, std::size_t size) {
  std::size_t at = 0;
  if constexpr (requires { V::bytes; }) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % V::bytes;
    at = std::min(size, past == 0 ? 0 : V::bytes - past);
    std::memcpy(to, from, at);
    for (; at + V::bytes <= size; at += V::bytes) V::stream(to + at, V::load(from + at));
  }
  std::memcpy(to + at, from + at, size - at);
}

template <class V, auto decode, class T>
void block_values_tiles(const BlockFormat& format, const std::byte* in, std::size_t n,
                        std::size_t width, const std::uint32_t* scales, std::uint32_t tensor_decode,
                        bool streamed, T* out) {
  const ValuePlan plan = value_plan(format, tensor_decode);
  if (!plan.in_f64 && (!plan.in_f32 || sizeof(T) > sizeof(float))) {
    return (definitions().*KernelsOf<T>::block_values)(format, in, n, width, scales, tensor_decode,
                                                       streamed, out);
  }
  const std::size_t bytes = code_bytes(format.element);
  const auto tensor = std::bit_cast<float>(tensor_decode);
  const float quantum = value_of<float>(min_bits(format.element, false), format.element);
  each_block_tile<V>(n, width, [&](std::size_t begin, std::size_t count) {
    std::array<float, block_tile> elements, of_tile;
    std::array<T, block_tile> values;
    if (plan.is_integer) {
      for (std::size_t i = 0; i < count; ++i) {
        elements[i] = static_cast<float>(static_cast<std::int8_t>(in[begin + i])) * quantum;
      }
    } else {
      decode(in + begin * bytes, elements.data(), count, format.element);
    }
    scale_values<V, decode>(format.scale, scales + begin / width, (count + width - 1) / width,
                            of_tile.data());
    T* const to = streamed ? values.data() : out + begin;
    scale_elements<V>(plan, elements.data(), count, width, of_tile.data(), tensor, to);
    if (streamed) {
      stream_out<V>(reinterpret_cast<const std::byte*>(values.data()),
                    reinterpret_cast<std::byte*>(out + begin), count * sizeof(T));
    }
  });
  end_streams<V>(streamed);
}

}  // namespace binade::fast
