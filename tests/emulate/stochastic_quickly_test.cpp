// SPDX-License-Identifier: Apache-2.0
//
// The quick way against `project` where they might part: ends of the range, subnormal results, carries, and
// words on both sides of what is cut off.
#include "emulate/stochastic_quickly.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "emulate/philox.h"

namespace binade::stochastic_quickly_test {
namespace {

std::uint64_t by_project(double x, const Format& format, std::uint32_t random) {
  const Attributes attributes{.rounding = Rounding::stochastic};
  return std::bit_cast<std::uint64_t>(
      value_of<double>(project(exact_of(x), format, attributes, random).bits, format));
}

bool same(double x, const Format& format, std::uint32_t random) {
  const double quick = stochastic_quickly(x, format, random);
  return std::bit_cast<std::uint64_t>(quick) == by_project(x, format, random) ||
         (std::isnan(quick) && std::isnan(x));
}

constexpr Format formats[]{binary16, bfloat16, tf32, e4m3, e5m2, binary32};

TEST_CASE("random numbers in and about the range of each format") {
  for (const Format& format : formats) {
    CAPTURE(name_of(format));
    std::size_t equal = 0;
    const std::size_t n = 50'000;
    const auto binades = static_cast<std::uint32_t>(format.emax() - format.quantum_exponent() + 6);
    for (std::size_t i = 0; i < n; ++i) {
      const auto words = random_words(3, 0, i);
      const int exponent = format.quantum_exponent() - 3 + static_cast<int>(words[0] % binades);
      const double fraction = std::ldexp(static_cast<double>(words[1]), -32) +
                              std::ldexp(static_cast<double>(words[2] >> 12), -52);
      const double x = std::ldexp(1 + fraction, exponent);
      equal += same(words[2] % 2 == 0 ? x : -x, format, words[3]) ? 1 : 0;
    }
    CHECK(equal == n);
  }
}

TEST_CASE("words just below, at and above what is cut off") {
  // 1 + a third of an ulp, and 1 less a part of the ulp below it.
  for (const Format& format : formats) {
    CAPTURE(name_of(format));
    const double ulp = std::ldexp(1.0, 1 - format.precision);
    for (const double x :
         {1 + ulp / 3, 1 + ulp * 0x1p-32, 1 + ulp * 0x1p-31, 1 - ulp / 3, 2 - ulp / 7}) {
      const double scaled = std::abs(x) / (x < 1 ? ulp / 2 : ulp);
      const double part = scaled - std::floor(scaled);
      const auto turn = static_cast<std::uint32_t>(std::ldexp(1 - part, 32));
      for (const std::uint32_t word : {0U, 1U, turn - 1, turn, turn + 1, ~0U}) {
        CHECK(same(x, format, word));
        CHECK(same(-x, format, word));
      }
    }
  }
}

TEST_CASE("zeros, infinities, NaN, subnormal results and the ends of the range") {
  for (const Format& format : formats) {
    CAPTURE(name_of(format));
    const double largest = value_of<double>(max_bits(format, false), format);
    const double least = std::ldexp(1.0, format.emin());
    for (const double x : {0.0, -0.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(), 0x1p-1074, 0x1p-1022, largest,
                           std::nextafter(largest, 1e300), largest * 1.001, least,
                           std::nextafter(least, 0.0), least * 0.7, least / 2}) {
      for (const std::uint32_t word : {0U, 1U << 31, ~0U}) {
        CHECK(same(x, format, word));
        CHECK(same(-x, format, word));
      }
    }
  }
}

}  // namespace
}  // namespace binade::stochastic_quickly_test
