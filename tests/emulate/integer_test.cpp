// SPDX-License-Identifier: Apache-2.0
//
// Rounding to integers and conversions to and from them, against floor, ceil and trunc of doubles,
// which are exact for every binary16 number and every 32-bit integer.
#include "emulate/integer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "emulate/quantize.h"
#include "tests/emulate/directions.h"

namespace binade::integer_test {
namespace {

using test::deterministic;

double nearest(double x, Rounding ties) {
  const double below = std::floor(x);
  const double rest = x - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  if (ties == Rounding::ties_to_away) return x < 0 ? below : below + 1;
  if (ties == Rounding::ties_toward_zero) return x < 0 ? below + 1 : below;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

double integral(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::ties_to_even:
    case Rounding::ties_to_away:
    case Rounding::ties_toward_zero: return nearest(x, rounding);
    case Rounding::toward_zero: return std::trunc(x);
    case Rounding::toward_positive: return std::ceil(x);
    case Rounding::toward_negative: return std::floor(x);
    case Rounding::to_odd: return std::fmod(std::floor(x), 2) != 0 ? std::floor(x) : std::ceil(x);
    case Rounding::stochastic: break;  // a word decides
  }
  return std::nan("");
}

TEST_CASE(
    "every binary16 number rounds to the integer that floor and ceil give, sign of zero kept") {
  int changed = 0;
  for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
    const Exact x = decode(bits, binary16);
    if (x.kind == Kind::nan || x.kind == Kind::infinite) continue;
    const double value = value_of<double>(bits, binary16);
    for (const Rounding rounding : deterministic) {
      const Projected got = project(round_to_integral(x, rounding, true), binary16);
      const double want = integral(value, rounding);
      REQUIRE(value_of<double>(got.bits, binary16) == want);
      REQUIRE((got.bits >> 15) == (bits >> 15));
      REQUIRE(got.flags == (want != value ? Flag::inexact : Flags{0}));
      REQUIRE(project(round_to_integral(x, rounding, false), binary16) == Projected{got.bits, 0});
      changed += want != value ? 1 : 0;
    }
  }
  CHECK(changed > 10000);
}

TEST_CASE("every binary16 number converts to integers of 8 to 64 bits, or raises invalid") {
  int invalid = 0;
  for (const IntegerType type :
       {IntegerType{8, true}, IntegerType{8, false}, IntegerType{16, true}, IntegerType{32, true},
        IntegerType{32, false}, IntegerType{64, true}, IntegerType{64, false}}) {
    const double low = type.is_signed ? -std::ldexp(1.0, type.bits - 1) : 0;
    const double high = std::ldexp(1.0, type.is_signed ? type.bits - 1 : type.bits);  // excluded
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
      const double value = value_of<double>(bits, binary16);
      for (const Rounding rounding : deterministic) {
        const Projected got = to_integer(decode(bits, binary16), type, rounding, true);
        if (std::isnan(value)) {
          REQUIRE(got == Projected{0, Flag::invalid});
          continue;
        }
        const double want = std::isinf(value) ? value : integral(value, rounding);
        if (want < low || want >= high) {
          REQUIRE(got.flags == Flag::invalid);
          REQUIRE(got.bits == (value > 0 ? type.limit(false) : type.limit(true)));
          ++invalid;
          continue;
        }
        const auto exact = static_cast<std::uint64_t>(static_cast<std::int64_t>(want));
        REQUIRE(got.bits == (exact & type.mask()));
        REQUIRE(got.flags == (want != value ? Flag::inexact : Flags{0}));
      }
    }
  }
  CHECK(invalid > 10000);
}

TEST_CASE("integers become the numbers that the machine's own conversions give") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random() >> (random() % 64);
    const auto as_signed = static_cast<std::int64_t>(random() % 2 != 0 ? bits : 0 - bits);
    const auto raw = static_cast<std::uint64_t>(as_signed);
    CHECK(project(from_integer(raw, {64, true}), binary64).bits ==
          bits_of(static_cast<double>(as_signed)));
    CHECK(project(from_integer(bits, {64, false}), binary32).bits ==
          bits_of(static_cast<float>(bits)));
    CHECK(project(from_integer(raw, {32, true}), binary32).bits ==
          bits_of(static_cast<float>(static_cast<std::int32_t>(as_signed))));
  }
  CHECK(project(from_integer(0, {32, true}), binary32).bits == 0);
}

TEST_CASE("a signaling NaN raises invalid when rounded to an integer") {
  CHECK(project(round_to_integral(decode(0x7C01, binary16), Rounding::ties_to_even, true),
                binary16) == Projected{0x7E00, Flag::invalid});
}

TEST_CASE("stochastically, 1.5 goes up for half of the words, by their low bits") {
  const Exact x = decode(0x3E00, binary16);
  for (const std::uint32_t word : {0x7FU, 0x80U, 0xABCDEF7FU, 0xABCDEF80U}) {
    const Exact got = round_to_integral(x, Rounding::stochastic, true, word, 8);
    const bool up = (word & 0x80) != 0;
    CHECK(project(got, binary16) == Projected{up ? 0x4000U : 0x3C00U, Flag::inexact});
  }
}

TEST_CASE("the most negative integers and the top powers of two become numbers and come back") {
  for (const IntegerType type : {IntegerType{8, true}, IntegerType{32, true}, IntegerType{64, true},
                                 IntegerType{32, false}, IntegerType{64, false}}) {
    for (const std::uint64_t magnitude : {type.limit(true), (type.limit(false) >> 1) + 1}) {
      const std::uint64_t bits = (type.is_signed ? 0 - magnitude : magnitude) & type.mask();
      const std::uint64_t number = project(from_integer(bits, type), binary64).bits;
      CHECK(value_of<double>(number, binary64) ==
            (type.is_signed ? -1 : 1) * static_cast<double>(magnitude));
      CHECK(to_integer(decode(number, binary64), type, Rounding::ties_to_even, true) ==
            Projected{bits, 0});
    }
  }
}

}  // namespace
}  // namespace binade::integer_test
