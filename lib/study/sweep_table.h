// SPDX-License-Identifier: Apache-2.0
//
// A sweep's results as a table and as plots: settings on one side, chosen results on the other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/study/experiment.h"
#include "lib/study/sweep.h"

namespace binade {

/// A row per run: the grid's keys, then the chosen results; "-" where a run has none, "NaN/inf"
/// where it is not finite (null in JSON). Fit for a terminal.
Table sweep_table(const SweepSpec& spec, std::span<const nlohmann::ordered_json> results,
                  std::span<const std::string> chosen);

/// The key of the grid to plot over: the one of numbers with the most values, a seed only if there is no
/// other; empty if none has two numbers.
std::string plot_key(const SweepSpec& spec);

/// Results over a key of the grid, a series per combination of the others; over the number of the run
/// where the key is empty. What is no number is a gap.
Plot sweep_plot(const SweepSpec& spec, std::span<const nlohmann::ordered_json> results,
                const std::string& x_key, const std::string& result);

/// {"schema": "binade.sweep_table/1", "name": …, "columns": […], "rows": [[values as they are]…]}
nlohmann::ordered_json sweep_json(const SweepSpec& spec,
                                  std::span<const nlohmann::ordered_json> results,
                                  std::span<const std::string> chosen);

/// What results_html shows: the table and a plot for each chosen result that has a number.
nlohmann::ordered_json sweep_page(const SweepSpec& spec,
                                  std::span<const nlohmann::ordered_json> results,
                                  std::span<const std::string> chosen, const std::string& x_key);

}  // namespace binade
