// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10, the counter-based generator of random words for stochastic rounding and test
// cases: a pure function of (seed, stream, index), so neither threads nor SIMD width can change a
// bit. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
//
//     element 4·block + i        word i of philox4x32(counter, key); element 10: block 2, word 2
//     counter, 4 words of 32 bits   block 31..0 | block 63..32 | stream 31..0 | stream 63..32
//     key, 2 words                  seed 31..0  | seed 63..32
#pragma once

#include <array>
#include <cstdint>

namespace binade {

/// Returns four random words: ten rounds over a 128-bit counter with a 64-bit key, both as 32-bit
/// words, lowest first. A round multiplies two words of the counter to 64 bits each:
///
///     c0 · D2511F53 = [ a high | a low ]        c2 · CD9E8D57 = [ b high | b low ]
///     next counter    b high ^ c1 ^ k0,  b low,  a high ^ c3 ^ k1,  a low
///     next key        k0 + 9E3779B9, k1 + BB67AE85
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // the golden ratio's fraction
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

/// Returns the random words of elements 4·block to 4·block + 3 of a stream.
constexpr std::array<std::uint32_t, 4> random_words(std::uint64_t seed, std::uint64_t stream,
                                                    std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// Returns the random word of element `index` of a stream.
constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return random_words(seed, stream, index / 4)[index % 4];
}

}  // namespace binade
