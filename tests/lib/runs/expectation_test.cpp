// SPDX-License-Identifier: Apache-2.0
//
// Figures of hypotheses: they are found in the text, read as numbers and compared with their
// bounds.
#include "lib/runs/expectation.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "lib/text/error.h"

namespace binade::expectation_test {
namespace {

constexpr std::array<ExpectedFigure, 3> figures{{{"share", "what dies", "41 %", 0.3, 0.5},
                                                 {"scale", "S", "2^16", 65536, 65536},
                                                 {"least", "binades", "three", 3, any_larger}}};

TEST_CASE("figures stand in the text where their keys were") {
  CHECK(hypothesis_text({"{share} die at {scale}, {least} behind", figures}) ==
        "41 % die at 2^16, three behind");
  CHECK(hypothesis_text({"no figure"}) == "no figure");
}

TEST_CASE("a key without a figure and a figure without a key are errors") {
  CHECK_THROWS_AS(hypothesis_text({"{share} {scale} {least} {other}", figures}), Error);
  CHECK_THROWS_AS(hypothesis_text({"{share} {scale}", figures}), Error);
  CHECK_THROWS_AS(hypothesis_text({"{share} {scale} {least", figures}), Error);
}

TEST_CASE("a hypothesis that differs takes from the other what its text names") {
  const Hypothesis other{"{share} die at {scale}, {least} behind", figures};
  const std::array<ExpectedFigure, 2> own{{
      {"scale", "its scale", "2^9", 512, 512},
      {"more", "what only it has", "7", 7, 7},
  }};
  const auto same = figures_of({}, other);
  CHECK(hypothesis_text({other.text, same}) == "41 % die at 2^16, three behind");
  const Hypothesis shorter{"{more} at {scale}, {least} behind", own};
  const auto mixed = figures_of(shorter, other);
  REQUIRE(mixed.size() == 3);
  CHECK(mixed[0].low == 512);
  CHECK(hypothesis_text({shorter.text, mixed}) == "7 at 2^9, three behind");
  const std::array<ExpectedFigure, 1> scale_only{own[0]};
  const auto replaced = figures_of({{}, scale_only}, other);
  CHECK(hypothesis_text({other.text, replaced}) == "41 % die at 2^9, three behind");
}

TEST_CASE("figures are read as people write them") {
  CHECK(number_of("41 %") == 0.41);
  CHECK(number_of("2^-24") == 0x1p-24);
  CHECK(number_of("1/16384") == 0x1p-14);
  CHECK(number_of("65 520") == 65520);
  CHECK(number_of("6.002e-5") == 6.002e-5);
  CHECK(number_of("no") == 0);
  CHECK(number_of("seven") == 7);
  for (const char* none : {"", "many", "2^x", "1/", "41 % of", "3 x 2^4", "%"}) {
    CAPTURE(none);
    CHECK(!number_of(none));
  }
}

TEST_CASE("a run is held to each figure") {
  const Hypothesis hypothesis{"{share} {scale} {least}", figures};
  const auto tested =
      tested_figures(hypothesis, {{"share", 0.51}, {"scale", 65536}, {"least", std::nullopt}});
  REQUIRE(tested.size() == 3);
  CHECK(tested[0].contradicts());
  CHECK(!tested[1].contradicts());
  CHECK(!tested[2].contradicts());
  CHECK(measured_text(tested[0]) == "51 %");
  CHECK(measured_text(tested[1]) == "2^16");
  CHECK(measured_text(tested[2]) == "left out");
  CHECK(bounds_text(figures[0]) == "30 % to 50 %");
  CHECK(bounds_text(figures[1]) == "exactly");
  CHECK(bounds_text(figures[2]) == "at least 3");
  CHECK(bounds_text({"k", "what", "5 %", any_smaller, 0.05}) == "at most 5 %");
  CHECK(bounds_text({"k", "what", "5", 5, 5, true}) == "set");
  CHECK(TestedFigure{figures[0], std::nan("")}.contradicts());
  CHECK(TestedFigure{figures[1], 65537}.contradicts());
}

TEST_CASE("a figure that the run is silent of, and one that nobody stated, are errors") {
  const Hypothesis hypothesis{"{share} {scale} {least}", figures};
  CHECK_THROWS_AS(tested_figures(hypothesis, {{"share", 0.4}, {"scale", 1}}), Error);
  CHECK_THROWS_AS(
      tested_figures(hypothesis, {{"share", 0.4}, {"scale", 1}, {"least", 3}, {"more", 1}}), Error);
}

}  // namespace
}  // namespace binade::expectation_test
