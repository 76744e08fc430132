// SPDX-License-Identifier: Apache-2.0
//
// Reads the expectation of every experiment: each of its figures has bounds that contain it, and
// its text has no figure besides these.
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>

#include "lib/runs/experiment.h"

namespace binade::hypotheses_test {
namespace {

/// What has digits and is no figure: names of formats, levels and functions, years of papers, the
/// seed of trainings.
const std::regex names(
    "binary16|binary32|binary64|bfloat16|FP8|FP16|FP32|FP64|BF16|TF32|f16|f32|f64|bf16|e4m3|"
    "1-6-9|\\bO[0-3]\\b|x\\^3|et al\\. 20[0-9]{2}|seed 0");
const std::regex key("\\{[a-z0-9_]+\\}");
const std::regex digit_word("\\S*[0-9]\\S*");

std::string without(const std::string& text, const std::regex& part) {
  return std::regex_replace(text, part, "");
}

void read(const Hypothesis& hypothesis) {
  CHECK_NOTHROW(hypothesis_text(hypothesis));  // every key is a figure's, every figure stated
  const std::string rest = without(without(std::string(hypothesis.text), key), names);
  std::smatch untested;
  CHECK_MESSAGE(!std::regex_search(rest, untested, digit_word), "untested: ", untested.str());
  for (const ExpectedFigure& figure : hypothesis.figures) {
    CAPTURE(std::string(figure.key));
    const auto number = number_of(figure.stated);
    REQUIRE(number);
    const double slack = 1e-12 * std::abs(*number);  // of a decimal fraction
    CHECK(*number >= figure.low - slack);
    CHECK(*number <= figure.high + slack);
    CHECK(!figure.what.empty());
  }
}

TEST_CASE("every figure of every hypothesis is one that the run is held to") {
  REQUIRE(!experiments().empty());
  for (const Experiment& e : experiments()) {
    CAPTURE(std::string(e.name));
    CHECK(!e.hypothesis.text.empty());
    CHECK(!e.hypothesis.figures.empty());
    read(e.hypothesis);
    const std::vector<ExpectedFigure> quick = e.figures_of(true);
    read({e.text_of(true), quick});
  }
}

TEST_CASE("what a quick run expects otherwise is otherwise") {
  for (const Experiment& e : experiments()) {
    CAPTURE(std::string(e.name));
    CHECK(e.quick_hypothesis.text != e.hypothesis.text);
    for (const ExpectedFigure& quick : e.quick_hypothesis.figures) {
      CAPTURE(std::string(quick.key));
      for (const ExpectedFigure& figure : e.hypothesis.figures) {
        CHECK(!(quick.key == figure.key && quick.what == figure.what &&
                quick.stated == figure.stated && quick.low == figure.low &&
                quick.high == figure.high && quick.given == figure.given));
      }
    }
  }
}

TEST_CASE("what trainings of one seed are expected to show is said of that seed") {
  // clip_order's steps draw nothing; of the claims one text stands for all.
  const std::set<std::string> unseeded{"clip_order", "claims"};
  for (const Experiment& e : experiments()) {
    if (!e.dumps || unseeded.contains(e.name)) continue;
    for (const bool quick : {false, true}) {
      CAPTURE(std::string(e.name));
      CHECK(e.text_of(quick).find("seed 0") != std::string_view::npos);
    }
  }
}

TEST_CASE("a bound that a run cannot miss is none") {
  for (const Experiment& e : experiments()) {
    for (const Hypothesis* hypothesis : {&e.hypothesis, &e.quick_hypothesis}) {
      for (const ExpectedFigure& figure : hypothesis->figures) {
        CAPTURE(std::string(figure.key));
        CHECK(figure.low <= figure.high);
        if (figure.given) CHECK(figure.low == figure.high);
        const bool share = figure.stated.ends_with('%');
        CHECK(!(share && figure.low <= 0 && figure.high >= 1));
        CHECK((std::isfinite(figure.low) || std::isfinite(figure.high)));
      }
    }
  }
}

}  // namespace
}  // namespace binade::hypotheses_test
