// SPDX-License-Identifier: Apache-2.0
//
// The hypothesis of an experiment: a text, and the figures in it, which a run must confirm. A
// figure enters the text only through its row, which has bounds; so no figure is stated without
// being tested.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// A figure that a hypothesis states, and the bounds within which the measured figure must lie.
struct ExpectedFigure {
  std::string_view key;     ///< {key} in the hypothesis stands for `stated`
  std::string_view what;    ///< what is measured, in a few words
  std::string_view stated;  ///< as the text shows it: "41 %", "2^-24", "1/256", "16 384", "two"
  double low, high;         ///< bounds, both included; those of a percentage are shares: 0.41
  bool given = false;       ///< the figure is a setting of the run, not a result
};

/// Bounds for figures that are bounded on one side only.
inline constexpr double any_larger = std::numeric_limits<double>::infinity(),
                        any_smaller = -any_larger;

struct Hypothesis {
  std::string_view text;  ///< contains {key} for each figure
  std::span<const ExpectedFigure> figures = {};
};

/// Returns the figures of a hypothesis that is written as a change of another one: first those
/// figures of `other` that the text names, each replaced by the figure of `hypothesis` with the
/// same key if there is one, then the figures that only `hypothesis` has. If `hypothesis` has no
/// text, the text of `other` counts.
std::vector<ExpectedFigure> figures_of(const Hypothesis& hypothesis, const Hypothesis& other);

/// Returns the text with each {key} replaced. Throws Error for a {key} without a figure, for a
/// figure without a {key}, and for a { without a }.
std::string hypothesis_text(const Hypothesis& hypothesis);

/// Returns the number that a stated figure means ("41 %" is 0.41, "two" is 2); nothing if it is
/// neither a number nor one of the words no, one … twelve.
std::optional<double> number_of(std::string_view stated);

/// What a run measured, by key; nothing for a figure whose data are not installed.
using MeasuredFigures = std::map<std::string, std::optional<double>, std::less<>>;

/// A figure with its measured value.
struct TestedFigure {
  ExpectedFigure expected;
  std::optional<double> measured;  ///< nothing: not measured, because data are not installed

  /// Returns whether the figure was measured and lies outside of its bounds; a NaN does.
  bool contradicts() const {
    return measured && !(*measured >= expected.low && *measured <= expected.high);
  }
};

/// Returns every figure of the hypothesis with its measured value. Throws Error if `measured` has a
/// key that is not stated, or lacks one that is.
std::vector<TestedFigure> tested_figures(const Hypothesis& hypothesis,
                                         const MeasuredFigures& measured);

/// Writes the measured figure in the way in which the stated one is written: as a percentage, a
/// power of two, a fraction or a number; "left out" if it was not measured.
std::string measured_text(const TestedFigure& figure);
/// Writes the bounds in the same way: "0.35 to 0.47", "at least 5 %", "exactly", or "set" for a
/// setting.
std::string bounds_text(const ExpectedFigure& figure);

}  // namespace binade
