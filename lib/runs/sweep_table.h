// SPDX-License-Identifier: Apache-2.0
//
// A sweep's results as a table and as plots: chosen results over settings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runs/experiment.h"
#include "lib/runs/sweep.h"

namespace binade {

/// Returns a table with a row per run: the run's values of the grid's keys, then the chosen
/// results. A result that the run does not have is "-"; one that is not finite (null in JSON) is
/// "NaN/inf". Cells are safe to print on a terminal.
Table sweep_table(const SweepSpec& spec, std::span<const nlohmann::ordered_json> results,
                  std::span<const std::string> chosen);

/// Returns the key of the grid for the x axis: the key with the most values, all of them numbers; a
/// seed only if there is no other such key. Returns an empty text if no key has at least two
/// numbers.
std::string plot_key(const SweepSpec& spec);

/// Returns a plot of a result over the key `x_key` of the grid, with one series per combination of
/// the other keys; over the number of the run if `x_key` is empty. A result that is not a number is
/// a gap.
Plot sweep_plot(const SweepSpec& spec, std::span<const nlohmann::ordered_json> results,
                const std::string& x_key, const std::string& result);

/// Returns {"schema": "binade.sweep_table/1", "name": …, "columns": […], "rows": [[…]…]}; values
/// keep their JSON types; a result that a run does not have is null.
nlohmann::ordered_json sweep_json(const SweepSpec& spec,
                                  std::span<const nlohmann::ordered_json> results,
                                  std::span<const std::string> chosen);

/// Returns the JSON for results_html: the table, and a plot for each chosen result that is a number
/// in some run.
nlohmann::ordered_json sweep_page(const SweepSpec& spec,
                                  std::span<const nlohmann::ordered_json> results,
                                  std::span<const std::string> chosen, const std::string& x_key);

}  // namespace binade
