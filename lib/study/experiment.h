// SPDX-License-Identifier: Apache-2.0
//
// What an experiment is: a question, what was expected in words and figures, and a function that measures and
// answers with figures, tables and plots. The list is declared here and defined in experiments/, joined by
// the linker.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/study/expectation.h"

namespace binade {

/// A table of an outcome, cells as people read them. The first column is aligned to the left.
struct Table {
  std::string title = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

enum class Mark : std::uint8_t { line, points, steps, bars };

/// One curve: x and y of one length. A y that is not finite is a gap.
struct Series {
  std::string name = {};
  std::vector<double> x = {}, y = {};
  Mark mark = Mark::line;
};

enum class Axis : std::uint8_t { linear, log2, log10 };

struct Plot {
  std::string title = {};
  std::string x_label = {}, y_label = {};  ///< with units
  Axis x_axis = Axis::linear, y_axis = Axis::linear;
  std::vector<Series> series = {};
  std::string note = {};  ///< how to read it, one or two sentences
};

struct ExperimentInput {
  bool quick = false;            ///< a smaller run that answers the same question
  std::string data_folder = {};  ///< where the committed data lie
  std::function<void(const std::string&)> print = {};  ///< text for the reader, as it comes
  /// Told now and then the share that is done, in [0, 1], and what is being run; may be empty.
  std::function<void(double done, std::string_view what)> progress = {};
  /// Called in the handler of an exception that ended the experiment: may throw again what is not to be its failure.
  std::function<void()> on_exception = {};
  std::string dump_folder = {};  ///< where runs leave their tensors; empty: nowhere
};

/// Whether what was measured is what was expected, and the figures.
struct Outcome {
  bool as_expected = false;  ///< in what no figure of the hypothesis says
  std::string verdict = {};  ///< one sentence
  /// By key, one for each figure of the hypothesis; run_experiment holds them to their bounds.
  MeasuredFigures measured = {};
  nlohmann::ordered_json data = {};  ///< every figure that the text shows
  std::vector<Table> tables = {};    ///< the program prints them after the run
  std::vector<Plot> plots = {};
  std::string skipped = {};  ///< why nothing was measured, such as data that are not installed
};

struct Experiment {
  const char* name;
  const char* question;
  Hypothesis hypothesis;  ///< what literature, reasoning or an earlier run says
  Outcome (*run)(const ExperimentInput& input);
  bool dumps = false;                ///< it trains, and leaves tensors where it is asked to
  Hypothesis quick_hypothesis = {};  ///< where that of a quick run differs: text, figures

  std::string_view text_of(bool quick) const {
    return quick && !quick_hypothesis.text.empty() ? quick_hypothesis.text : hypothesis.text;
  }
  /// Those that text_of(quick) names.
  std::vector<ExpectedFigure> figures_of(bool quick) const {
    return binade::figures_of(quick ? quick_hypothesis : hypothesis, hypothesis);
  }
};

/// All experiments, in the order in which they are best read.
std::span<const Experiment> experiments();

/// The table as lines of text with aligned columns, the title above, an empty line after. Wider than 98
/// columns, heads and cells of words break over lines; figures stay whole.
std::string table_text(const Table& table);

}  // namespace binade
