// SPDX-License-Identifier: Apache-2.0
//
// Codes of 4 and of 6 bits in bytes, as files and hardware have them. Unpacked, each code has a
// byte of its own. c0 is the first:
//
//     4 bits, low_first     c1 c1 c1 c1 c0 c0 c0 c0          PTX e2m1x2, torch float4_e2m1fn_x2
//             high_first    c0 c0 c0 c0 c1 c1 c1 c1          CUDA's older int4 tools
//     6 bits                c1 c1 c0 c0 c0 c0 c0 c0 | c2 c2 c2 c2 c1 c1 c1 c1 | c3 c3 c3 c3 c3 c3 c2 c2
//
// What is missing in the last byte or the last three is 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace binade {

/// Which of two codes of 4 bits is in the low half of their byte.
enum class NibbleOrder : std::uint8_t { low_first, high_first };

/// Packs n codes of 4 bits into (n + 1) / 2 bytes.
constexpr void pack_4(const std::byte* codes, std::size_t n, std::byte* out,
                      NibbleOrder order = NibbleOrder::low_first) {
  for (std::size_t i = 0; i < n; i += 2) {
    const std::byte first = codes[i], second = i + 1 < n ? codes[i + 1] : std::byte{0};
    const bool low = order == NibbleOrder::low_first;
    out[i / 2] = (low ? second : first) << 4 | ((low ? first : second) & std::byte{0xF});
  }
}

/// Unpacks n codes of 4 bits.
constexpr void unpack_4(const std::byte* packed, std::size_t n, std::byte* out,
                        NibbleOrder order = NibbleOrder::low_first) {
  for (std::size_t i = 0; i < n; ++i) {
    const bool high = (i % 2 == 1) == (order == NibbleOrder::low_first);
    out[i] = high ? packed[i / 2] >> 4 : packed[i / 2] & std::byte{0xF};
  }
}

/// Returns how many bytes hold n codes of 6 bits: 3 for every 4 of them, begun or full.
constexpr std::size_t packed_6_bytes(std::size_t n) { return (n + 3) / 4 * 3; }

/// Packs n codes of 6 bits into packed_6_bytes(n) bytes.
constexpr void pack_6(const std::byte* codes, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; i += 4) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 4 && i + k < n; ++k) {
      word |= (std::to_integer<std::uint32_t>(codes[i + k]) & 0x3F) << (6 * k);
    }
    for (std::size_t k = 0; k < 3; ++k)
      out[i / 4 * 3 + k] = static_cast<std::byte>(word >> (8 * k));
  }
}

/// Unpacks n codes of 6 bits.
constexpr void unpack_6(const std::byte* packed, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word |= std::to_integer<std::uint32_t>(packed[i / 4 * 3 + k]) << (8 * k);
    }
    out[i] = static_cast<std::byte>(word >> (6 * (i % 4)) & 0x3F);
  }
}

}  // namespace binade
