// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10, the counter-based generator behind stochastic rounding and test cases: a pure
// function of (seed, stream, index), so neither threads nor SIMD width can change a bit.
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace binade {

/// Ten rounds over a 128-bit counter with a 64-bit key; both as words, lowest first.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

/// The random words of elements 4·block to 4·block + 3: Philox with counter
/// {block low, block high, stream low, stream high} under key = seed.
constexpr std::array<std::uint32_t, 4> random_words(std::uint64_t seed, std::uint64_t stream,
                                                    std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// The random word of element `index`.
constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return random_words(seed, stream, index / 4)[index % 4];
}

}  // namespace binade
