// SPDX-License-Identifier: Apache-2.0
//
// How often each encoding of a short format occurs in an array: what a value of 8 or 16 bits has to be looked at for,
// whatever is asked of it later, is asked once an encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace binade {

/// Counts of up to 2^32 - 1 encodings, several tables of them: how often a code occurred is the sum over all. A loop that
/// spreads neighbours over them does not wait for one addition to a count before the next one to the same.
template <int bits>
struct EncodingCounts {
  using Code = std::conditional_t<bits == 8, std::uint8_t, std::uint16_t>;
  static_assert(bits == 8 || bits == 16);
  static constexpr std::size_t codes = std::size_t{1} << bits;
  static constexpr std::size_t tables = bits == 8 ? 8 : 2;  ///< 8 KiB, 512 KiB
  static constexpr std::uint64_t capacity = ~std::uint32_t{0};

  std::array<std::array<std::uint32_t, codes>, tables> counts{};

  constexpr std::uint32_t of(std::size_t code) const {
    std::uint32_t sum = 0;
    for (const auto& table : counts) sum += table[code];
    return sum;
  }
};

/// Adds n little-endian encodings, at any alignment.
template <int bits>
void histogram(const std::byte* in, std::size_t n, EncodingCounts<bits>& counts) {
  using Code = typename EncodingCounts<bits>::Code;
  for (std::size_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, in + i * sizeof code, sizeof code);
    ++counts.counts[0][code];
  }
}

}  // namespace binade
