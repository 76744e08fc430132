// SPDX-License-Identifier: Apache-2.0
//
// A loop for each width.
#include "lib/gemm/packed_elements.h"

#include <cstring>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t packed_at_once = std::size_t{1} << 16;

/// Calls `visit` with an unsigned integer type of so many bytes.
template <class Visit>
void in_words(std::size_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1: return visit(std::uint8_t{});
    case 2: return visit(std::uint16_t{});
    case 4: return visit(std::uint32_t{});
    default: return visit(std::uint64_t{});
  }
}

}  // namespace

void pack_elements(std::span<const std::uint64_t> elements, std::size_t bytes,
                   std::span<std::byte> out) {
  in_words(bytes, [&]<class Word>(Word) {
    parallel_for(elements.size(), packed_at_once,
                 [&](std::size_t begin, std::size_t end, std::size_t) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const auto word = static_cast<Word>(elements[i]);
                     std::memcpy(out.data() + i * sizeof(Word), &word, sizeof(Word));
                   }
                 });
  });
}

void unpack_elements(std::span<const std::byte> packed, std::size_t bytes,
                     std::span<std::uint64_t> out) {
  in_words(bytes, [&]<class Word>(Word) {
    parallel_for(out.size(), packed_at_once, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) {
        Word word;
        std::memcpy(&word, packed.data() + i * sizeof(Word), sizeof(Word));
        out[i] = word;
      }
    });
  });
}

}  // namespace binade
