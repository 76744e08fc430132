// SPDX-License-Identifier: Apache-2.0
//
// Experiments as they were run, and what is told of them: a table for terminals, JSON, and the JSON in
// a page. Two runs give the same bytes unless `times` asks how long each took.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/study/experiment.h"

namespace binade {

enum class RunStatus : std::uint8_t { as_expected, not_as_expected, skipped, failed };

struct ExperimentRun {
  std::string name, question, hypothesis;
  Outcome outcome = {};
  std::string text = {};                   ///< what it printed while it ran
  std::vector<TestedFigure> figures = {};  ///< of the hypothesis, with what was found
  std::string failure = {};                ///< the line of the Error that ended it; empty: none did
  double seconds = 0;
};

/// Error with the names for one that there is not.
const Experiment& experiment_named(std::span<const Experiment> all, const std::string& name);

RunStatus status_of(const ExperimentRun& run);

/// "as expected", "NOT as expected", "skipped", "failed"
std::string_view status_words(RunStatus status);

/// The verdict, or the reason why there is none.
std::string_view verdict_of(const ExperimentRun& run);

/// Runs it, keeps what it prints and holds its figures to the hypothesis; they follow its tables as one more. An
/// exception ends it, not the program. So does what no reader could be shown: a table or a series whose parts
/// differ in length, a figure that is stated and not measured.
ExperimentRun run_experiment(const Experiment& experiment, const ExperimentInput& input);

/// What is printed before a run, and after it: its name and question; its tables, what was expected and what was measured.
std::string heading_of(const Experiment& experiment);
std::string answer_of(const ExperimentRun& run);

/// Lines of name, status and verdict under a head.
std::string summary_text(std::span<const ExperimentRun> runs, bool times);

nlohmann::ordered_json table_json(const Table& table);

/// Numbers that are not finite become null: gaps.
nlohmann::ordered_json plot_json(const Plot& plot);

/// {"schema": "binade.experiments/2", "binade": version, "quick": …, "results": [each run]}
nlohmann::ordered_json experiment_runs_json(std::span<const ExperimentRun> runs, bool quick,
                                            bool times);

}  // namespace binade
