// SPDX-License-Identifier: Apache-2.0
//
// What an experiment expects: words, and in them figures that the run is held to. A figure has no other way
// into the words than its row, so that none is stated and left untested.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// A figure that a hypothesis states, and the bounds within which the run has to find it.
struct ExpectedFigure {
  std::string_view key;     ///< {key} in the hypothesis stands for `stated`
  std::string_view what;    ///< what is measured, in a few words
  std::string_view stated;  ///< as it is read: "41 %", "2^-24", "1/256", "16 384", "two"
  double low, high;         ///< both included; of a percentage as shares: 41 % is 0.41
  bool given = false;       ///< what the run is set to, not what it finds
};

inline constexpr double any_larger = std::numeric_limits<double>::infinity(),
                        any_smaller = -any_larger;

struct Hypothesis {
  std::string_view text;  ///< with {key} for each figure
  std::span<const ExpectedFigure> figures = {};
};

/// The figures of a hypothesis that differs from another: of the other's those that its text names, each with its
/// own in the other's place, and behind them what only it has. Its text is the other's where it has none.
std::vector<ExpectedFigure> figures_of(const Hypothesis& hypothesis, const Hypothesis& other);

/// The hypothesis as it is read. Error for a {key} without a figure, and for a figure without its {key}.
std::string hypothesis_text(const Hypothesis& hypothesis);

/// The number that a figure's words are; nothing where they are none.
std::optional<double> number_of(std::string_view stated);

/// What a run found, by key; nothing for a figure whose data are not installed.
using MeasuredFigures = std::map<std::string, std::optional<double>, std::less<>>;

/// A figure and what was found.
struct TestedFigure {
  ExpectedFigure expected;
  std::optional<double> measured;  ///< nothing: left out, for want of data

  bool contradicts() const {
    return measured && !(*measured >= expected.low && *measured <= expected.high);
  }
};

/// Every figure of the hypothesis. Error where the run measured one that is not stated, or is silent of one that
/// is.
std::vector<TestedFigure> tested_figures(const Hypothesis& hypothesis,
                                         const MeasuredFigures& measured);

/// The measured figure as the stated one is written: a percentage, a power of two, a fraction, a number;
/// "left out" for none.
std::string measured_text(const TestedFigure& figure);
/// "0.35 to 0.47", "at least 5 %", "exactly", written likewise.
std::string bounds_text(const ExpectedFigure& figure);

}  // namespace binade
