// SPDX-License-Identifier: Apache-2.0
//
// Puts figures into the text of a hypothesis, reads them as numbers, and writes measured figures in
// the same notation.
#include "lib/runs/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 13> number_words{"no",   "one",    "two",   "three", "four",
                                                        "five", "six",    "seven", "eight", "nine",
                                                        "ten",  "eleven", "twelve"};

/// The notation of a figure.
enum class Writing { number, percent, power, fraction };

Writing writing_of(std::string_view stated) {
  if (stated.ends_with('%')) return Writing::percent;
  if (stated.find("2^") != std::string_view::npos) return Writing::power;
  if (stated.starts_with("1/")) return Writing::fraction;
  return Writing::number;
}

std::string written(double x, Writing writing) {
  if (!std::isfinite(x)) return std::isnan(x) ? "NaN" : x > 0 ? "infinity" : "-infinity";
  switch (writing) {
    case Writing::percent: return fmt::format("{:.4g} %", 100 * x);
    case Writing::power:
      return x > 0 ? fmt::format("2^{:.4g}", std::log2(x)) : fmt::format("{:g}", x);
    case Writing::fraction: return x > 0 ? fmt::format("1/{:.6g}", 1 / x) : fmt::format("{:g}", x);
    case Writing::number: break;
  }
  return fmt::format("{:.6g}", x);
}

/// Parses a plain number, in which blanks may separate groups of digits.
std::optional<double> plain_number(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ' ');
  double out = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, out);
  if (error != std::errc{} || at != end) return std::nullopt;
  return out;
}

Error unfit(std::string_view key, std::string_view how) {
  return Error(fmt::format("hypothesis: figure {} {}; please report it", printable(key), how));
}

}  // namespace

std::vector<ExpectedFigure> figures_of(const Hypothesis& hypothesis, const Hypothesis& other) {
  const std::string_view text = hypothesis.text.empty() ? other.text : hypothesis.text;
  std::vector<ExpectedFigure> out;
  for (const ExpectedFigure& figure : other.figures) {
    if (text.find(fmt::format("{{{}}}", figure.key)) != std::string_view::npos) {
      out.push_back(figure);
    }
  }
  for (const ExpectedFigure& figure : hypothesis.figures) {
    const auto same = std::ranges::find(out, figure.key, &ExpectedFigure::key);
    if (same != out.end()) {
      *same = figure;
    } else {
      out.push_back(figure);
    }
  }
  return out;
}

std::string hypothesis_text(const Hypothesis& hypothesis) {
  std::string out;
  std::vector<std::string_view> used;
  std::string_view rest = hypothesis.text;
  while (true) {
    const std::size_t open = rest.find('{');
    out += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    const std::string_view key = rest.substr(open + 1, close - open - 1);
    if (close == std::string_view::npos) throw unfit(key, "has no closing brace");
    const auto figure = std::ranges::find(hypothesis.figures, key, &ExpectedFigure::key);
    if (figure == hypothesis.figures.end()) throw unfit(key, "is named and not there");
    out += figure->stated;
    used.push_back(key);
    rest.remove_prefix(close + 1);
  }
  for (const ExpectedFigure& figure : hypothesis.figures) {
    if (std::ranges::find(used, figure.key) == used.end()) throw unfit(figure.key, "is not stated");
  }
  return out;
}

std::optional<double> number_of(std::string_view stated) {
  const auto word = std::ranges::find(number_words, stated);
  if (word != number_words.end()) return static_cast<double>(word - number_words.begin());
  switch (writing_of(stated)) {
    case Writing::percent: {
      stated.remove_suffix(1);
      const auto x = plain_number(stated);
      return x ? std::optional(*x / 100) : x;
    }
    case Writing::power: {
      if (!stated.starts_with("2^")) return std::nullopt;
      const auto x = plain_number(stated.substr(2));
      return x ? std::optional(std::exp2(*x)) : x;
    }
    case Writing::fraction: {
      const auto x = plain_number(stated.substr(2));
      return x ? std::optional(1 / *x) : x;
    }
    case Writing::number: break;
  }
  return plain_number(stated);
}

std::vector<TestedFigure> tested_figures(const Hypothesis& hypothesis,
                                         const MeasuredFigures& measured) {
  std::vector<TestedFigure> out;
  for (const ExpectedFigure& figure : hypothesis.figures) {
    const auto found = measured.find(figure.key);
    if (found == measured.end()) throw unfit(figure.key, "is stated, and the run is silent of it");
    out.push_back({figure, found->second});
  }
  for (const auto& [key, value] : measured) {
    if (std::ranges::find(hypothesis.figures, key, &ExpectedFigure::key) ==
        hypothesis.figures.end()) {
      throw unfit(key, "was measured and is not stated");
    }
  }
  return out;
}

std::string measured_text(const TestedFigure& figure) {
  if (!figure.measured) return "left out";
  return written(*figure.measured, writing_of(figure.expected.stated));
}

std::string bounds_text(const ExpectedFigure& figure) {
  const Writing writing = writing_of(figure.stated);
  const bool above = std::isfinite(figure.low), below = std::isfinite(figure.high);
  if (figure.given) return "set";
  if (figure.low == figure.high) return "exactly";
  if (above && !below) return "at least " + written(figure.low, writing);
  if (below && !above) return "at most " + written(figure.high, writing);
  return fmt::format("{} to {}", written(figure.low, writing), written(figure.high, writing));
}

}  // namespace binade
