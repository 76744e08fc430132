// SPDX-License-Identifier: Apache-2.0
//
// Integer dot products: the numbers of codes, known sums, and random ones against plain arithmetic.
#include "emulate/integer_dot.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>

#include "emulate/instruction_shapes.h"

namespace binade::integer_dot_test {

TEST_CASE("codes as numbers: two's complement where there is a sign") {
  CHECK(integer_of(0x80, s8) == -128);
  CHECK(integer_of(0xFF, s8) == -1);
  CHECK(integer_of(0x7F, s8) == 127);
  CHECK(integer_of(0xFF, u8) == 255);
  CHECK(integer_of(0x8, s4) == -8);
  CHECK(integer_of(0xF8, s4) == -8);
  CHECK(integer_of(0xF, u4) == 15);
  CHECK(integer_of(3, b1) == 1);
  CHECK(integer_of(0x80000000, s32) == -2147483648LL);
  CHECK(integer_of(0xFFFFFFFF7FFFFFFF, s32) == 2147483647);
}

TEST_CASE("widths: what an integer type is stored in") {
  CHECK(s8.storage_bits() == 8);
  CHECK(u8.storage_bits() == 8);
  CHECK((s4.bits() == 4 && s4.storage_bits() == 8));
  CHECK((u4.bits() == 4 && u4.storage_bits() == 8));
  CHECK((b1.bits() == 1 && b1.storage_bits() == 8));
  CHECK(s32.storage_bits() == 32);
  for (const TypeName& row : type_names) {
    const char first = row.name[0];
    CHECK(is_integer(row.format) == (first == 's' || first == 'u' || row.name == "b1"));
  }
  CHECK(!is_integer(e8m0));
}

TEST_CASE("a sum beyond 32 bits wraps, or ends at the end") {
  const std::uint64_t a[]{127, 127};
  const std::uint64_t low[]{0x80, 0x80};
  CHECK(integer_dot({}, s8, s8, a, a, 2, 0x7FFFFFFF) == 0x80007E01);
  CHECK(integer_dot({.satfinite = true}, s8, s8, a, a, 2, 0x7FFFFFFF) == 0x7FFFFFFF);
  CHECK(integer_dot({}, s8, s8, a, low, 2, 0x80000000) == 0x7FFF8100);
  CHECK(integer_dot({.satfinite = true}, s8, s8, a, low, 2, 0x80000000) == 0x80000000);
  CHECK(integer_dot({}, u8, s8, low, low, 2, 0) == 0xFFFF8000);
}

TEST_CASE("only the whole sum is too large or not: what leaves the range and comes back is there") {
  const std::uint64_t a[]{100, 0x9C};  // 100, -100
  const std::uint64_t b[]{100, 100};
  CHECK(integer_dot({.satfinite = true}, s8, s8, a, b, 2, 0x7FFFFFFF) == 0x7FFFFFFF);
  CHECK(integer_dot({.satfinite = true}, s8, s8, a, b, 2, 0x7FFFFFF0) == 0x7FFFFFF0);
}

TEST_CASE("one bit: the ones of and, of exclusive or") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t x = random();
    const std::uint64_t y = random();
    std::uint64_t a[64];
    std::uint64_t b[64];
    for (int bit = 0; bit < 64; ++bit) {
      a[bit] = x >> bit & 1;
      b[bit] = y >> bit & 1;
    }
    const auto ones = [](std::uint64_t z) { return static_cast<std::uint64_t>(std::popcount(z)); };
    CHECK(integer_dot({}, b1, b1, a, b, 64, 5) == ones(x & y) + 5);
    CHECK(integer_dot({.exclusive_or = true}, b1, b1, a, b, 64, 5) == ones(x ^ y) + 5);
  }
}

}  // namespace binade::integer_dot_test
