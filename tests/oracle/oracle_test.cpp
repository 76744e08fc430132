// SPDX-License-Identifier: Apache-2.0
//
// Tests of the oracle itself: the list of values against integer division, both against MPFR, and a
// staircase against the rounding that it was built from.
#include "tests/oracle/oracle.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tests/oracle/mpfr_oracle.h"
#include "tests/oracle/staircase.h"

namespace oracle_test {
namespace {

using oracle::Value;
using oracle::Way;

/// The ways that draw no random words: all that stand before Way::random.
constexpr auto ways = [] {
  std::array<Way, static_cast<std::size_t>(Way::random)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Way>(i);
  return out;
}();

/// Returns points in the gap above the number with this code: the number, a little more, the middle
/// and a little to both sides of it, a little less than the next number.
std::vector<Value> points_above(std::uint64_t code, const oracle::Spec& spec) {
  const Value x = oracle::value_of(code << spec.padding, spec);
  std::vector<Value> points;
  for (int half : {0, 1, 2}) {
    for (int side : {-1, 0, 1}) {
      Value p = x;
      const std::uint64_t n = 2 * x.low + static_cast<std::uint64_t>(half);
      if ((n == 0 && side <= 0) || (half == 2 && side >= 0)) continue;
      p.low = side < 0 ? n - 1 : n;
      p.rest = side < 0 ? ~std::uint64_t{0} : side > 0 ? 1 : 0;
      p.exponent = x.exponent - 1;
      points.push_back(p);
      p.negative = true;
      points.push_back(p);
    }
  }
  return points;
}

TEST_CASE("the list of values and the division agree on every gap of every listed format") {
  for (const oracle::NamedSpec& row : oracle::named_specs()) {
    if (row.spec.exponent_bits + row.spec.precision > 19) continue;
    CAPTURE(row.name);
    const oracle::Oracle table(row.spec);
    const oracle::Oracle division(row.spec, oracle::Oracle::Method::division);
    const std::uint64_t max_code = row.max_code >> row.spec.padding;
    const std::uint64_t stride = row.spec.precision > 8 ? 61 : max_code > 1000 ? 7 : 1;
    std::size_t cases = 0;
    std::size_t different = 0;
    const auto compare_at = [&](std::uint64_t code) {
      for (const Value& x : points_above(code, row.spec)) {
        for (const Way way : ways) {
          for (const bool before : {false, true}) {
            const oracle::Rules rules{.way = way, .tiny_before = before};
            different += table.round(x, rules) == division.round(x, rules) ? 0 : 1;
            ++cases;
          }
        }
      }
    };
    for (std::uint64_t code = 0; code < max_code; code += stride) compare_at(code);
    compare_at(max_code);
    CHECK(cases > 300);
    CHECK(different == 0);
  }
}

TEST_CASE("MPFR rounds every gap of binary16 and bfloat16 the same way") {
  for (const char* name : {"binary16", "bfloat16"}) {
    CAPTURE(name);
    const oracle::NamedSpec& row = oracle::named_spec(name);
    const oracle::Oracle judge(row.spec);
    std::size_t cases = 0;
    std::size_t different = 0;
    for (std::uint64_t code = 0; code <= row.max_code; code += code < 2048 ? 1 : 5) {
      for (const Value& x : points_above(code, row.spec)) {
        for (const Way way : ways) {
          const oracle::Outcome mine = judge.round(x, {.way = way});
          const double value = oracle::to_double(oracle::value_of(mine.bits, row.spec));
          const oracle::MpfrResult theirs = oracle::round_by_mpfr(x, row.spec, way);
          const bool same = value == theirs.value && mine.inexact == theirs.inexact &&
                            std::signbit(value) == std::signbit(theirs.value);
          different += same ? 0 : 1;
          if (!same && different < 4) {
            MESSAGE(name << " code " << code << " low " << x.low << " rest " << x.rest << " way "
                         << static_cast<int>(way) << ": " << value << " against " << theirs.value);
          }
          ++cases;
        }
      }
    }
    CHECK(cases > 100000);
    CHECK(different == 0);
  }
}

TEST_CASE("a staircase gives what the rounding gives, at the steps and between them") {
  for (const char* name : {"e4m3", "e5m2"}) {
    const oracle::Spec& spec = oracle::named_spec(name).spec;
    const oracle::Oracle judge(spec);
    for (const Way way : ways) {
      const oracle::Rules rules{.way = way};
      const std::vector<oracle::Step> steps = oracle::staircase(judge, rules);
      REQUIRE(steps.size() > 400);
      REQUIRE(steps.front().first == 0);
      std::size_t different = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::uint32_t last = i + 1 < steps.size() ? steps[i + 1].first - 1 : 0xFFFFFFFF;
        REQUIRE(last >= steps[i].first);
        for (std::uint32_t k = 0; k <= 16; ++k) {
          const auto at = static_cast<std::uint32_t>(steps[i].first +
                                                     std::uint64_t{last - steps[i].first} * k / 16);
          const Value x = oracle::value_of(at, oracle::named_spec("binary32").spec);
          different += judge.round(x, rules) == steps[i].outcome ? 0 : 1;
        }
      }
      CHECK(different == 0);
    }
  }
}

}  // namespace
}  // namespace oracle_test
