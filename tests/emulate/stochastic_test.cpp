// SPDX-License-Identifier: Apache-2.0
//
// Stochastic rounding as it is specified: up if and only if floor(f 2^n) + r >= 2^n, where f is the
// part that is cut off in units of the destination's ulp, and r the low n bits of the random word.
// This is checked by counting over all r; flags and the ends of the range are checked against the
// oracle.
#include <doctest/doctest.h>

#include <random>

#include "emulate/project.h"
#include "tests/emulate/oracle_bridge.h"

namespace binade::stochastic_test {
namespace {

using test::Judge;

struct Law {
  std::uint64_t cases = 0;
  std::uint64_t different = 0;
  std::uint64_t ups = 0;
};

/// Returns numbers in the gap above the encoding `bits`: those at f = j / 2^fine for all j, with
/// and without a sticky bit below.
void check_law(std::uint64_t bits, const Format& f, int n, int fine, Law& law) {
  const Exact below = decode(bits, f);
  const uint128 low = below.kind == Kind::zero ? 0 : below.significand;
  const int ulp = below.kind == Kind::zero ? f.quantum_exponent() : below.exponent;
  const std::uint64_t one = std::uint64_t{1} << n;
  for (std::uint64_t j = 0; j < std::uint64_t{1} << fine; ++j) {
    Exact x{.kind = Kind::finite, .exponent = ulp - fine - 40};
    x.significand = (low << fine | j) << 40;
    if (x.significand == 0) continue;
    x.sticky = j % 2 == 1;
    const std::uint64_t whole = j >> (fine - n);  // floor(f 2^n)
    std::uint64_t ups = 0;
    for (std::uint64_t r = 0; r < one; ++r) {
      const auto word = static_cast<std::uint32_t>(0xDEADBEEFULL << n | r);
      const Attributes attributes{.rounding = Rounding::stochastic, .random_bits = n};
      const std::uint64_t got = project(x, f, attributes, word).bits;
      const bool up = got == bits + 1;
      law.different += up == (whole + r >= one) && (up || got == bits) ? 0 : 1;
      ups += up ? 1 : 0;
      ++law.cases;
    }
    law.different += ups == whole ? 0 : 1;
    law.ups += ups;
  }
}

TEST_CASE(
    "of the 2^n random words exactly floor(f 2^n) round up, in every gap, subnormals included") {
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    if (f.bits() > 8) continue;
    CAPTURE(row.name);
    Law law;
    for (std::uint64_t bits = 0; bits < max_bits(f, false); ++bits) {
      for (int n = 1; n <= 3; ++n) check_law(bits, f, n, n + 2, law);
      const bool edge = bits < 2 || bits + 2 > max_bits(f, false) ||
                        bits + 1 == std::uint64_t{1} << f.fraction_bits();
      for (int n = 4; n <= 8 && edge; ++n) check_law(bits, f, n, n + 1, law);
    }
    CHECK(law.cases > 10000);
    CHECK(law.ups > 0);
    CHECK(law.different == 0);
  }
}

TEST_CASE("half the smallest subnormal rounds up for half of the words, a quarter for a quarter") {
  const Attributes attributes{.rounding = Rounding::stochastic, .random_bits = 2};
  for (const Format& f : {binary16, bfloat16, e4m3, e5m2, e2m1}) {
    for (const int quarters : {1, 2, 3}) {
      const Exact x{.kind = Kind::finite,
                    .exponent = f.quantum_exponent() - 2,
                    .significand = static_cast<unsigned>(quarters)};
      int ups = 0;
      for (std::uint32_t r = 0; r < 4; ++r) ups += project(x, f, attributes, r).bits == 1 ? 1 : 0;
      CHECK(ups == quarters);
    }
  }
}

TEST_CASE("a fraction below 2^-n never rounds up, however many bits it has") {
  const Attributes attributes{.rounding = Rounding::stochastic, .random_bits = 8};
  const std::uint32_t all_ones = 0xFFFFFFFF;
  const Exact below{.kind = Kind::finite,
                    .sticky = true,
                    .exponent = -70,
                    .significand = (uint128{1} << 70) + (uint128{1} << 52) - 1};
  const Exact at{.kind = Kind::finite,
                 .exponent = -70,
                 .significand = (uint128{1} << 70) + (uint128{1} << 52)};
  CHECK(project(below, binary16, attributes, all_ones) == Projected{0x3C00, Flag::inexact});
  CHECK(project(at, binary16, attributes, all_ones) == Projected{0x3C01, Flag::inexact});
}

TEST_CASE("exact values stay, for every word") {
  const Attributes attributes{.rounding = Rounding::stochastic};
  for (std::uint64_t bits = 0; bits <= 0x7C00; ++bits) {
    REQUIRE(project(decode(bits, binary16), binary16, attributes, 0xFFFFFFFF) ==
            Projected{bits, 0});
  }
}

TEST_CASE(
    "above the largest finite number stochastic rounding overflows like rounding to nearest") {
  const Attributes attributes{.rounding = Rounding::stochastic, .random_bits = 1};
  const Attributes saturating{
      .rounding = Rounding::stochastic, .saturation = Saturation::finite, .random_bits = 1};
  const Flags both = Flag::overflow | Flag::inexact;
  const Exact half{.kind = Kind::finite, .exponent = 4, .significand = 4095};  // 65520
  CHECK(project(half, binary16, attributes, 0) == Projected{0x7BFF, Flag::inexact});
  CHECK(project(half, binary16, attributes, 1) == Projected{0x7C00, both});
  CHECK(project(half, binary16, saturating, 1) == Projected{0x7BFF, both});
  const Exact e4m3_half{.kind = Kind::finite, .exponent = 4, .significand = 29};  // 464
  CHECK(project(e4m3_half, e4m3, attributes, 0) == Projected{0x7E, Flag::inexact});
  CHECK(project(e4m3_half, e4m3, attributes, 1) == Projected{0x7F, both});
  CHECK(project(e4m3_half, e4m3, saturating, 1) == Projected{0x7E, both});
  const Exact far{.kind = Kind::finite, .negative = true, .exponent = 100, .significand = 1};
  CHECK(project(far, binary16, attributes, 0) == Projected{0xFC00, both});
  CHECK(project(far, e2m1, attributes, 0) == Projected{0xF, both});
}

TEST_CASE("bits and flags follow the oracle for every n, every end of the range and flushing") {
  std::mt19937_64 random(20240501);
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    CAPTURE(row.name);
    Judge judge(f, oracle::Oracle::Method::division);
    for (int i = 0; i < 40000; ++i) {
      Attributes attributes{.rounding = Rounding::stochastic};
      attributes.random_bits = 1 + static_cast<int>(random() % 32);
      attributes.saturation = random() % 2 == 0 ? Saturation::none : Saturation::finite;
      attributes.flush_results = random() % 4 == 0;
      attributes.tininess =
          random() % 2 == 0 ? Tininess::after_rounding : Tininess::before_rounding;
      // Half of the exponents lie within three binades of an end of the range.
      const int span = f.emax() - f.quantum_exponent() + 6;
      const int near = static_cast<int>(random() % 6) - 3;
      const int exponent =
          random() % 2 == 0
              ? f.quantum_exponent() - 3 + static_cast<int>(random() % static_cast<unsigned>(span))
          : random() % 2 == 0 ? f.emin() + near
                              : f.emax() + near;
      Exact x{.kind = Kind::finite, .negative = random() % 2 == 0, .exponent = exponent - 119};
      const std::uint64_t low = random() % 3 == 0 ? 0 : random();
      x.significand = uint128{random() >> 8 | std::uint64_t{1} << 55} << 64 | low;
      x.sticky = random() % 2 == 0;
      judge.project(x, attributes,
                    static_cast<std::uint32_t>(random() % 8 == 0 ? ~0ULL : random()));
    }
    CHECK_MESSAGE(judge.differences() == 0, judge.report());
    CHECK(judge.raised(Flag::underflow) > 0);
    CHECK(judge.raised(Flag::overflow) > 0);
  }
}

}  // namespace
}  // namespace binade::stochastic_test
