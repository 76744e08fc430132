// SPDX-License-Identifier: Apache-2.0
//
// An experiment is a question, a hypothesis (a text and its figures), and a function that measures
// and returns figures, tables and plots. The list of experiments is declared here and defined in
// experiments/; the linker joins the two.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/runs/expectation.h"

namespace binade {

/// A table of results; cells are text for readers. The first column is aligned to the left.
struct Table {
  std::string title = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

enum class Mark : std::uint8_t { line, points, steps, bars };

/// One curve: x and y have the same length. A y that is not finite is a gap in the curve.
struct Series {
  std::string name = {};
  std::vector<double> x = {}, y = {};
  Mark mark = Mark::line;
};

enum class Axis : std::uint8_t { linear, log2, log10 };

struct Plot {
  std::string title = {};
  std::string x_label = {}, y_label = {};  ///< what the axes show, with units
  Axis x_axis = Axis::linear, y_axis = Axis::linear;
  std::vector<Series> series = {};
  std::string note = {};  ///< how to read the plot, one or two sentences
};

struct ExperimentInput {
  bool quick = false;            ///< a smaller run that answers the same question
  std::string data_folder = {};  ///< the folder of the committed data
  std::function<void(const std::string&)> print = {};  ///< shows text while the experiment runs
  /// Called from time to time with the share of the work that is done, in [0, 1], and what is being
  /// run; may be empty.
  std::function<void(double done, std::string_view what)> progress = {};
  /// Called in the handler of an exception that ended the experiment; throws an exception again
  /// that is not a failure of the experiment, such as one of Python. May be empty.
  std::function<void()> on_exception = {};
  std::string dump_folder = {};  ///< where trainings write their tensors; empty: they do not
};

/// What a run of an experiment found.
struct Outcome {
  bool as_expected = false;  ///< the hypothesis holds in everything that its figures do not cover
  std::string verdict = {};  ///< one sentence
  /// One measured value for each figure of the hypothesis, by key; run_experiment compares them
  /// with the bounds.
  MeasuredFigures measured = {};
  nlohmann::ordered_json data = {};  ///< every figure that the text shows
  std::vector<Table> tables = {};    ///< the program prints them after the run
  std::vector<Plot> plots = {};
  std::string skipped = {};  ///< why nothing was measured (say, missing data); empty: it was
};

struct Experiment {
  const char* name;
  const char* question;
  const char* answer;     ///< what a whole run measured, in one sentence
  Hypothesis hypothesis;  ///< what literature, reasoning or an earlier run says
  Outcome (*run)(const ExperimentInput& input);
  bool dumps = false;                ///< it trains and can write tensors to dump_folder
  Hypothesis quick_hypothesis = {};  ///< what a quick run expects otherwise; empty: the same

  /// Returns the text of the hypothesis of a quick or a whole run.
  std::string_view text_of(bool quick) const {
    return quick && !quick_hypothesis.text.empty() ? quick_hypothesis.text : hypothesis.text;
  }
  /// Returns the figures that text_of(quick) names.
  std::vector<ExpectedFigure> figures_of(bool quick) const {
    return binade::figures_of(quick ? quick_hypothesis : hypothesis, hypothesis);
  }
};

/// Returns all experiments, in the order in which they are best read.
std::span<const Experiment> experiments();

/// Returns the table as lines of text: the title, aligned columns, and an empty line at the end. In
/// a table wider than 98 columns, headings and cells that hold words are broken over several lines;
/// figures are not.
std::string table_text(const Table& table);

}  // namespace binade
