// SPDX-License-Identifier: Apache-2.0
//
// User-made formats: every exponent width, precision, bias and kind of specials obeys the same
// rules as the named formats.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "emulate/project.h"
#include "tests/emulate/operand_draw.h"
#include "tests/emulate/oracle_bridge.h"

namespace binade::custom_format_test {
namespace {

Attributes draw_attributes(std::mt19937_64& random) {
  Attributes a;
  a.rounding = roundings[random() % roundings.size()].rounding;
  a.saturation = static_cast<Saturation>(random() % 2);
  a.flush_results = random() % 4 == 0;
  a.tininess = static_cast<Tininess>(random() % 2);
  a.nan = static_cast<NanResult>(random() % 3);
  a.random_bits = 1 + static_cast<int>(random() % 32);
  return a;
}

/// Returns a number near one of the format, at a tie, or anywhere around its range.
Exact draw_number(std::mt19937_64& random, const Format& f) {
  Exact x{.kind = Kind::finite, .negative = random() % 2 == 0};
  const std::uint64_t codes = max_bits(f, false) >> f.padding_bits;
  std::uint64_t code = random() % (codes + 1);
  if (random() % 3 == 0) code = random() % 2 == 0 ? codes - code % 2 : code % 3;
  const Exact point = decode(code << f.padding_bits, f);
  const uint128 low = point.kind == Kind::zero ? 0 : point.significand;
  x.significand = (low * 4 + random() % 4) << 60;
  x.exponent = (point.kind == Kind::zero ? f.quantum_exponent() : point.exponent) - 62;
  x.significand += random() % 3;
  x.sticky = random() % 3 == 0;
  if (x.significand >> 60 == 0) x.significand = (uint128{random()} | 1) << 40;
  if (random() % 8 == 0) x.exponent += static_cast<int>(random() % 9) - 4;
  return x;
}

TEST_CASE("every width and precision with every kind of specials rounds as the oracle says") {
  std::mt19937_64 random(7);
  std::uint64_t cases = 0;
  std::set<Specials> seen;
  for (int exponent_bits = 2; exponent_bits <= 11; ++exponent_bits) {
    for (int precision = 1; precision <= 53; ++precision) {
      for (int i = 0; i < 4; ++i) {
        const Format f = test::draw_format(random, exponent_bits, precision);
        seen.insert(f.specials);
        test::Judge judge(f, oracle::Oracle::Method::division);
        for (int k = 0; k < 150; ++k) {
          const Attributes attributes = draw_attributes(random);
          judge.project(draw_number(random, f), attributes, static_cast<std::uint32_t>(random()));
        }
        for (const Kind kind : {Kind::zero, Kind::infinite, Kind::nan}) {
          for (const bool negative : {false, true}) {
            judge.project({.kind = kind, .negative = negative}, draw_attributes(random));
          }
        }
        REQUIRE_MESSAGE(judge.differences() == 0, judge.report());
        cases += judge.cases();
      }
    }
  }
  CHECK(cases > 300000);
  CHECK(seen.size() == 4);
}

TEST_CASE("small user-made formats agree with the list of their values, encoding by encoding") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    const Format f = test::draw_format(random, 2 + static_cast<int>(random() % 4),
                                       1 + static_cast<int>(random() % 6));
    CAPTURE(test::words(f));
    test::Judge judge(f);
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits(); ++code) {
      const std::uint64_t bits = code << f.padding_bits;
      const Exact x = decode(bits, f);
      const oracle::Value want = oracle::value_of(bits, test::spec_of(f));
      const oracle::Value got = test::value_of(x);
      REQUIRE(got.kind == want.kind);
      REQUIRE(got.negative == want.negative);
      if (want.kind == oracle::Kind::number) {
        REQUIRE(oracle::to_double(got) == oracle::to_double(want));
        REQUIRE(project(x, f).bits == bits);
      }
    }
    for (int k = 0; k < 200; ++k) {
      judge.project(draw_number(random, f), draw_attributes(random),
                    static_cast<std::uint32_t>(random()));
    }
    REQUIRE_MESSAGE(judge.differences() == 0, judge.report());
  }
}

TEST_CASE("a bias far outside the usual moves the range and nothing else") {
  for (const int bias : {-16384, -500, 500, 16384}) {
    const Format f{5, 11, bias};
    REQUIRE(is_valid(f));
    for (std::uint64_t bits = 0; bits < 0x7C00; bits += 13) {
      Exact x = decode(bits, binary16);
      x.exponent += 15 - bias;
      REQUIRE(project(x, f) == Projected{bits, 0});
    }
    const Exact tie{.kind = Kind::finite, .exponent = f.quantum_exponent() - 1, .significand = 1};
    CHECK(project(tie, f) == Projected{0, Flag::underflow | Flag::inexact});
  }
}

}  // namespace
}  // namespace binade::custom_format_test
