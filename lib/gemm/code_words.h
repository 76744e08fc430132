// SPDX-License-Identifier: Apache-2.0
//
// Converts encodings that lie one in each 64-bit word, as products keep them, into floats and back.
// The kernels, which convert arrays of packed encodings, do the work.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"

namespace binade {
namespace detail {

inline constexpr std::size_t words_at_once = 256;

template <class Code>
void narrow(const std::uint64_t* words, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto code = static_cast<Code>(words[i]);
    std::memcpy(out + i * sizeof(Code), &code, sizeof(Code));
  }
}
template <class Code>
void widen(const std::byte* codes, std::size_t n, std::uint64_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, codes + i * sizeof(Code), sizeof(Code));
    out[i] = code;
  }
}

}  // namespace detail

/// Converts n encodings of format f, each of which is a number of binary32 too, into floats.
inline void floats_of_words(const Kernels& kernels, const std::uint64_t* words, std::size_t n,
                            const Format& f, float* out) {
  if (f == binary32) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(words[i]));
    }
    return;
  }
  std::array<std::byte, detail::words_at_once * sizeof(std::uint64_t)> codes;
  for (std::size_t first = 0; first < n; first += detail::words_at_once) {
    const std::size_t count = std::min(detail::words_at_once, n - first);
    switch (code_bytes(f)) {
      case 1: detail::narrow<std::uint8_t>(words + first, count, codes.data()); break;
      case 2: detail::narrow<std::uint16_t>(words + first, count, codes.data()); break;
      case 4: detail::narrow<std::uint32_t>(words + first, count, codes.data()); break;
      default: detail::narrow<std::uint64_t>(words + first, count, codes.data());
    }
    kernels.decode_f32(codes.data(), out + first, count, f);
  }
}

/// Rounds n floats to the format of `to` and writes their encodings, one in each word. In binary32
/// nothing is rounded, and NaNs keep their bits. `index` is the number of the first in its random
/// stream.
inline void words_of_floats(const Kernels& kernels, const float* values, std::size_t n,
                            const Quantizer& to, std::uint64_t* out, std::uint64_t index = 0) {
  if (to.format == binary32) {
    for (std::size_t i = 0; i < n; ++i) out[i] = bits_of(values[i]);
    return;
  }
  std::array<std::byte, detail::words_at_once * sizeof(std::uint64_t)> codes;
  EventCounts unread;
  for (std::size_t first = 0; first < n; first += detail::words_at_once) {
    const std::size_t count = std::min(detail::words_at_once, n - first);
    kernels.encode_f32(values + first, codes.data(), count, index + first, to, unread);
    switch (code_bytes(to.format)) {
      case 1: detail::widen<std::uint8_t>(codes.data(), count, out + first); break;
      case 2: detail::widen<std::uint16_t>(codes.data(), count, out + first); break;
      case 4: detail::widen<std::uint32_t>(codes.data(), count, out + first); break;
      default: detail::widen<std::uint64_t>(codes.data(), count, out + first);
    }
  }
}

}  // namespace binade
