// SPDX-License-Identifier: Apache-2.0
//
// Runs experiments and reports their results, as text for terminals and as JSON, which
// results_html.h puts into a page. Two runs give the same bytes, unless `times` is set, which adds
// how long each experiment took.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runs/experiment.h"

namespace binade {

enum class RunStatus : std::uint8_t { as_expected, not_as_expected, skipped, failed };

struct ExperimentRun {
  std::string name, question, hypothesis;
  Outcome outcome = {};
  std::string text = {};                   ///< what the experiment printed while it ran
  std::vector<TestedFigure> figures = {};  ///< figures of the hypothesis, with measured values
  std::string failure = {};  ///< message of the exception that ended the run; empty: none did
  double seconds = 0;
};

/// Returns the experiment of that name. Throws Error, which lists the names, for any other name.
const Experiment& experiment_named(std::span<const Experiment> all, const std::string& name);

RunStatus status_of(const ExperimentRun& run);

/// "as expected", "NOT as expected", "skipped", "failed"
std::string_view status_words(RunStatus status);

/// Returns the verdict; for a run that failed or was skipped, the failure, or why it was skipped.
std::string_view verdict_of(const ExperimentRun& run);

/// Runs an experiment, keeps what it prints and compares its figures with the hypothesis; the
/// comparison is added as its last table. An exception of the experiment becomes the failure of the
/// run. So do results that cannot be shown: a row of a table that has not one cell for each column,
/// a series whose x and y differ in length, a figure that is stated and not measured, or measured
/// and not stated. Throws Error as hypothesis_text does, before the experiment runs.
ExperimentRun run_experiment(const Experiment& experiment, const ExperimentInput& input);

/// Return what is printed before a run, its name and question, and what is printed after it: its
/// tables, what was expected and what was measured.
std::string heading_of(const Experiment& experiment);
std::string answer_of(const ExperimentRun& run);

/// Returns a table of the runs: name, status and verdict; with `times` also the seconds.
std::string summary_text(std::span<const ExperimentRun> runs, bool times);

nlohmann::ordered_json table_json(const Table& table);

/// Returns the plot as JSON; numbers that are not finite become null.
nlohmann::ordered_json plot_json(const Plot& plot);

/// Returns {"schema": "binade.experiments/2", "binade": version, "quick": …, "results": [each
/// run]}; with `times` each run has its seconds. While experiments remain to be run, the schema is
/// "binade.experiments_unfinished/1", and the key "remaining" has their names.
nlohmann::ordered_json experiment_runs_json(std::span<const ExperimentRun> runs, bool quick,
                                            bool times,
                                            std::span<const Experiment* const> remaining = {});

}  // namespace binade
