// SPDX-License-Identifier: Apache-2.0
//
// Comparisons against the processor's own on exact doubles; minimum and maximum against the rows of
// a table transcribed from IEEE 754-2019 9.6.
#include "emulate/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "emulate/quantize.h"

namespace binade::compare_test {
namespace {

const Extremum& named(std::string_view name) {
  for (const Extremum& row : extrema) {
    if (row.name == name) return row;
  }
  return extrema[0];
}

std::uint64_t half(const Extremum& operation, std::uint64_t a, std::uint64_t b) {
  const Attributes keep{.nan = NanResult::propagate};
  return project(extremum(operation, decode(a, binary16), decode(b, binary16)), binary16, keep)
      .bits;
}

TEST_CASE("all pairs of e5m2 and e4m3 encodings compare as their values do") {
  int unordered = 0;
  int equal = 0;
  for (std::uint64_t i = 0; i < 256; ++i) {
    for (std::uint64_t j = 0; j < 256; ++j) {
      const double a = value_of<double>(i, e5m2);
      const double b = value_of<double>(j, e4m3);
      const Relation want = a < b    ? Relation::less
                            : a > b  ? Relation::greater
                            : a == b ? Relation::equal
                                     : Relation::unordered;
      REQUIRE(compare(decode(i, e5m2), decode(j, e4m3)) == want);
      unordered += want == Relation::unordered ? 1 : 0;
      equal += want == Relation::equal ? 1 : 0;
    }
  }
  CHECK(unordered > 0);
  CHECK(equal > 100);
}

TEST_CASE("the 22 predicates of 5.11 hold where the relation says, NaNs included") {
  struct Row {
    const char* name;
    bool (*holds)(double, double);
  };
  // The quiet ones; a signaling twin has the same truth.
  const Row rows[] = {
      {"Equal", [](double a, double b) { return a == b; }},
      {"NotEqual", [](double a, double b) { return a != b; }},
      {"Greater", [](double a, double b) { return a > b; }},
      {"GreaterEqual", [](double a, double b) { return a >= b; }},
      {"Less", [](double a, double b) { return a < b; }},
      {"LessEqual", [](double a, double b) { return a <= b; }},
      {"Unordered", [](double a, double b) { return std::isunordered(a, b); }},
      {"Ordered", [](double a, double b) { return !std::isunordered(a, b); }},
      {"NotGreater", [](double a, double b) { return !(a > b); }},
      {"LessUnordered", [](double a, double b) { return a < b || std::isunordered(a, b); }},
      {"NotLess", [](double a, double b) { return !(a < b); }},
      {"GreaterUnordered", [](double a, double b) { return a > b || std::isunordered(a, b); }},
  };
  const double values[] = {-1, -0.0, 0.0, 1, std::nan("")};
  std::set<std::string_view> seen;
  for (const Row& row : rows) {
    for (const bool signaling : {false, true}) {
      const std::string name =
          (signaling ? "compareSignaling" : "compareQuiet") + std::string(row.name);
      const auto found = std::ranges::find(predicates, std::string_view(name), &Predicate::name);
      const bool ordered = name == "compareSignalingOrdered" || name == "compareSignalingUnordered";
      REQUIRE((found == predicates.end()) == ordered);
      if (ordered) continue;
      seen.insert(found->name);
      CAPTURE(name);
      CHECK(found->signaling == signaling);
      for (const double a : values) {
        for (const double b : values) {
          CHECK(found->holds(compare(exact_of(a), exact_of(b))) == row.holds(a, b));
        }
      }
    }
  }
  CHECK(seen.size() == predicates.size());
}

TEST_CASE("a quiet comparison raises invalid for signaling NaNs, a signaling one for all") {
  const Exact one = decode(0x3C00, binary16);
  const Exact quiet = decode(0x7E00, binary16);
  const Exact signaling = decode(0x7C01, binary16);
  CHECK(comparison_flags(one, one, true) == 0);
  CHECK(comparison_flags(one, quiet, false) == 0);
  CHECK(comparison_flags(one, quiet, true) == Flag::invalid);
  CHECK(comparison_flags(signaling, one, false) == Flag::invalid);
}

TEST_CASE("minimum and maximum order the zeros and treat NaN as their clause says") {
  constexpr std::uint64_t plus0 = 0, minus0 = 0x8000, one = 0x3C00, minus2 = 0xC000, nan = 0x7E01;
  CHECK(half(named("minimum"), plus0, minus0) == minus0);
  CHECK(half(named("minimum"), minus0, plus0) == minus0);
  CHECK(half(named("maximum"), minus0, plus0) == plus0);
  CHECK(half(named("minimum"), one, minus2) == minus2);
  CHECK(half(named("maximum"), one, minus2) == one);
  CHECK(half(named("minimumMagnitude"), one, minus2) == one);
  CHECK(half(named("maximumMagnitude"), one, minus2) == minus2);
  CHECK(half(named("minimumMagnitude"), one, 0xBC00) == 0xBC00);  // equal magnitudes: minimum
  CHECK(half(named("maximumMagnitude"), 0xBC00, one) == one);
  CHECK(half(named("minimum"), one, nan) == nan);
  CHECK(half(named("minimumNumber"), one, nan) == one);
  CHECK(half(named("maximumNumber"), nan, minus2) == minus2);
  CHECK(half(named("maximumNumber"), nan, 0x7E02) == nan);
}

TEST_CASE("a signaling NaN raises invalid also where a number is chosen") {
  const Exact chosen =
      extremum(named("minimumNumber"), decode(0x7C01, binary16), decode(0x3C00, binary16));
  CHECK(project(chosen, binary16) == Projected{0x3C00, Flag::invalid});
}

TEST_CASE("minimum and maximum of all pairs of e5m2 numbers are those of their values") {
  for (std::uint64_t i = 0; i < 256; ++i) {
    for (std::uint64_t j = 0; j < 256; ++j) {
      const double a = value_of<double>(i, e5m2);
      const double b = value_of<double>(j, e5m2);
      if (std::isnan(a) || std::isnan(b) || (a == 0 && b == 0)) continue;
      const Exact low = extremum(named("minimum"), decode(i, e5m2), decode(j, e5m2));
      const Exact high = extremum(named("maximum"), decode(i, e5m2), decode(j, e5m2));
      REQUIRE(value_of<double>(project(low, e5m2).bits, e5m2) == std::min(a, b));
      REQUIRE(value_of<double>(project(high, e5m2).bits, e5m2) == std::max(a, b));
    }
  }
}

TEST_CASE("every row of the table of 9.6 chooses what its clause says") {
  struct Row {
    const char* name;
    std::uint64_t unequal, opposite, quiet, two;  // of (1, -2), (-1, 1), (1, NaN), (NaN, NaN)
  };
  constexpr std::uint64_t one = 0x3C00, minus1 = 0xBC00, minus2 = 0xC000, nan = 0x7E01;
  for (const Row& row :
       {Row{"minimum", minus2, minus1, nan, nan}, Row{"minimumNumber", minus2, minus1, one, nan},
        Row{"maximum", one, one, nan, nan}, Row{"maximumNumber", one, one, one, nan},
        Row{"minimumMagnitude", one, minus1, nan, nan},
        Row{"minimumMagnitudeNumber", one, minus1, one, nan},
        Row{"maximumMagnitude", minus2, one, nan, nan},
        Row{"maximumMagnitudeNumber", minus2, one, one, nan}}) {
    CAPTURE(row.name);
    const auto chosen = [&](std::uint64_t a, std::uint64_t b) {
      const Exact x = extremum(named(row.name), decode(a, binary16), decode(b, binary16));
      return project(x, binary16, {.nan = NanResult::propagate});
    };
    CHECK(named(row.name).name == row.name);
    CHECK(chosen(one, minus2) == Projected{row.unequal, 0});
    CHECK(chosen(minus2, one) == Projected{row.unequal, 0});
    CHECK(chosen(minus1, one) == Projected{row.opposite, 0});
    CHECK(chosen(one, minus1) == Projected{row.opposite, 0});
    CHECK(chosen(one, nan) == Projected{row.quiet, 0});
    CHECK(chosen(nan, one) == Projected{row.quiet, 0});
    CHECK(chosen(nan, nan) == Projected{row.two, 0});
    CHECK(chosen(0x7C01, one).flags == Flag::invalid);
    CHECK(chosen(one, 0x7C01).flags == Flag::invalid);
  }
}

TEST_CASE("an infinity equals itself; either operand may be the NaN that raises invalid") {
  const Exact inf = decode(0x7C00, binary16);
  const Exact minus = decode(0xFC00, binary16);
  CHECK(compare(inf, inf) == Relation::equal);
  CHECK(compare(minus, minus) == Relation::equal);
  CHECK(compare(minus, inf) == Relation::less);
  const Exact one = decode(0x3C00, binary16);
  const Exact quiet = decode(0x7E00, binary16);
  CHECK(comparison_flags(quiet, one, true) == Flag::invalid);
  CHECK(comparison_flags(one, decode(0x7C01, binary16), false) == Flag::invalid);
}

}  // namespace
}  // namespace binade::compare_test
