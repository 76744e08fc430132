// SPDX-License-Identifier: Apache-2.0
//
// How often each encoding of a format of 8 or 16 bits occurs in an array. Any statistic of the
// values can then be computed with one look at each encoding instead of one at each value. The
// encoding itself is the index; in e4m3, with 8 bits:
//
//     values   1.5  -2  1.5     bytes  3C C0 3C     counts[0][0x3C] = 2, counts[0][0xC0] = 1
//
//     index    00   01 … 07     08 … 7E          7F    80   81 … FF
//              +0   subnormal   normal, rising   NaN   -0   the same magnitudes, negative
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace binade {

/// Counts of up to 2^32 - 1 encodings, in several tables: an encoding occurred as often as the sum
/// of its counts says. A loop that spreads neighbours in the array over the tables does not have to
/// wait for one addition to a count before the next addition to the same count.
template <int bits>
struct EncodingCounts {
  using Code = std::conditional_t<bits == 8, std::uint8_t, std::uint16_t>;
  static_assert(bits == 8 || bits == 16);
  static constexpr std::size_t codes = std::size_t{1} << bits;
  static constexpr std::size_t tables = bits == 8 ? 8 : 2;  ///< 8 KiB or 512 KiB in all
  static constexpr std::uint64_t capacity = ~std::uint32_t{0};

  std::array<std::array<std::uint32_t, codes>, tables> counts{};

  /// Returns how often an encoding occurred.
  constexpr std::uint32_t of(std::size_t code) const {
    std::uint32_t sum = 0;
    for (const auto& table : counts) sum += table[code];
    return sum;
  }
};

/// Counts n little-endian encodings at `in`, which need not be aligned.
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
