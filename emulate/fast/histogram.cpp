// SPDX-License-Identifier: Apache-2.0
//
// Codes are counted by words of eight bytes; the definition counts the last ones, which fill no
// word.
#include "emulate/fast/histogram.h"

namespace binade::fast {
namespace {

std::uint64_t word_at(const std::byte* in) {
  std::uint64_t word = 0;
  std::memcpy(&word, in, sizeof word);
  return word;
}

/// Counts the codes of a word, each in its table.
template <int bits>
inline void count_word(std::uint64_t word, EncodingCounts<bits>& counts) {
  constexpr std::uint64_t mask = EncodingCounts<bits>::codes - 1;
  for (std::size_t k = 0; k < 64 / bits; ++k) {
    ++counts.counts[k % EncodingCounts<bits>::tables][word >> (bits * k) & mask];
  }
}

}  // namespace

void histogram(const std::byte* in, std::size_t n, EncodingCounts<8>& counts) {
  std::size_t i = 0;
  for (; n - i >= 8; i += 8) count_word<8>(word_at(in + i), counts);
  binade::histogram<8>(in + i, n - i, counts);
}

void histogram(const std::byte* in, std::size_t n, EncodingCounts<16>& counts) {
  std::size_t i = 0;
  for (; n - i >= 8; i += 8) {
    const std::uint64_t first = word_at(in + 2 * i), second = word_at(in + 2 * i + 8);
    if (first == second && first == (first & 0xFFFF) * 0x0001'0001'0001'0001) {
      counts.counts[0][first & 0xFFFF] += 8;
      continue;
    }
    count_word<16>(first, counts);
    count_word<16>(second, counts);
  }
  binade::histogram<16>(in + 2 * i, n - i, counts);
}

}  // namespace binade::fast
