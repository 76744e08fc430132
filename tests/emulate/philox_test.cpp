// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 against the known answers of Random123 (its file kat_vectors, "philox4x32 10").
#include "emulate/philox.h"

#include <doctest/doctest.h>

#include <set>

namespace binade::philox_test {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST_CASE("Philox4x32-10 gives Random123's known answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("element i draws word i mod 4 of the block whose counter is i/4 and the stream") {
  const std::uint64_t seed = 0x299f31d0a4093822;
  const std::uint64_t stream = 0x0370734413198a2e;
  const std::uint64_t block = 0x05a308d3243f6a88;
  const Block want =
      philox4x32({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(random_word(seed, stream, block * 4 + i) == want[i]);
  CHECK(random_word(0, 0, 2) == 0xbc57ac4c);
}

TEST_CASE("seed, stream and index each change the word, in their high halves too") {
  const std::uint64_t high = std::uint64_t{1} << 32;
  const std::set<std::uint32_t> words{
      random_word(0, 0, 0), random_word(1, 0, 0),        random_word(high, 0, 0),
      random_word(0, 1, 0), random_word(0, high, 0),     random_word(0, 0, 1),
      random_word(0, 0, 4), random_word(0, 0, 4 * high),
  };
  CHECK(words.size() == 8);
}

}  // namespace
}  // namespace binade::philox_test
