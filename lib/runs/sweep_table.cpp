// SPDX-License-Identifier: Apache-2.0
//
// Tables and plots of sweeps. An axis is logarithmic if its values are powers of two or span three
// decades or more.
#include "lib/runs/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lib/runs/experiment_run.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/version.h"

namespace binade {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class Json>
std::string words(const Json& value) {
  if (value.is_string()) return printable(value.template get_ref<const std::string&>());
  if (value.is_number_float()) return fmt::format("{:.6g}", value.template get<double>());
  return printable(value.dump());
}

/// Returns a result as text: "-" if the run does not have it, "NaN/inf" if it is null, which stands
/// for a number that is not finite.
std::string result_words(const ordered_json& result, const std::string& key) {
  if (!result.contains(key)) return "-";
  return result[key].is_null() ? "NaN/inf" : words(result[key]);
}

ordered_json result_of(const ordered_json& result, const std::string& key) {
  return result.is_object() && result.contains(key) ? result[key] : ordered_json();
}

bool all_numbers(const std::vector<json>& values) {
  return std::ranges::all_of(values, [](const json& value) { return value.is_number(); });
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return x > 0 && std::frexp(x, &exponent) == 0.5;
}

Axis axis_for(std::vector<double> values) {
  std::erase_if(values, [](double x) { return !std::isfinite(x); });
  if (values.size() < 2) return Axis::linear;
  const auto [low, high] = std::ranges::minmax(values);
  if (low <= 0) return Axis::linear;
  if (high >= 4 * low && std::ranges::all_of(values, is_power_of_two)) return Axis::log2;
  return high >= 1000 * low ? Axis::log10 : Axis::linear;
}

std::vector<std::string> columns_of(const SweepSpec& spec, std::span<const std::string> chosen) {
  std::vector<std::string> columns = spec.keys;
  columns.insert(columns.end(), chosen.begin(), chosen.end());
  return columns;
}

/// Returns the settings of a run as text, such as "format bfloat16, seed 3", without the key
/// `without`.
std::string others_of(const SweepSpec& spec, const json& settings, const std::string& without) {
  std::string text;
  for (const std::string& key : spec.keys) {
    if (key == without) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, words(settings[key]));
  }
  return text;
}

}  // namespace

Table sweep_table(const SweepSpec& spec, std::span<const ordered_json> results,
                  std::span<const std::string> chosen) {
  Table table{.title = printable(spec.name), .columns = columns_of(spec, chosen)};
  for (std::string& column : table.columns) column = printable(column);
  for (std::size_t run = 0; run < results.size(); ++run) {
    const json settings = settings_of(spec, run);
    std::vector<std::string> row;
    for (const std::string& key : spec.keys) row.push_back(words(settings[key]));
    for (const std::string& key : chosen) row.push_back(result_words(results[run], key));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string plot_key(const SweepSpec& spec) {
  std::string best;
  std::size_t most = 1;
  for (const bool seeds : {false, true}) {
    for (std::size_t i = 0; i < spec.keys.size() && (!seeds || best.empty()); ++i) {
      const bool is_seed = spec.keys[i].ends_with("seed");
      if (is_seed != seeds || spec.values[i].size() <= most || !all_numbers(spec.values[i]))
        continue;
      best = spec.keys[i];
      most = spec.values[i].size();
    }
  }
  return best;
}

Plot sweep_plot(const SweepSpec& spec, std::span<const ordered_json> results,
                const std::string& x_key, const std::string& result) {
  Plot plot{.title = result, .x_label = x_key.empty() ? "run" : x_key, .y_label = result};
  std::map<std::string, std::size_t> index;
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t run = 0; run < results.size(); ++run) {
    const json settings = settings_of(spec, run);
    const std::string name = x_key.empty() ? "" : others_of(spec, settings, x_key);
    const auto [at, is_new] = index.emplace(name, plot.series.size());
    if (is_new)
      plot.series.push_back({.name = name, .mark = x_key.empty() ? Mark::points : Mark::line});
    const ordered_json y = result_of(results[run], result);
    xs.push_back(x_key.empty() ? static_cast<double>(run) : settings[x_key].get<double>());
    ys.push_back(y.is_number() ? y.get<double>() : std::numeric_limits<double>::quiet_NaN());
    plot.series[at->second].x.push_back(xs.back());
    plot.series[at->second].y.push_back(ys.back());
  }
  plot.x_axis = axis_for(xs);
  plot.y_axis = axis_for(ys);
  return plot;
}

ordered_json sweep_json(const SweepSpec& spec, std::span<const ordered_json> results,
                        std::span<const std::string> chosen) {
  ordered_json rows = ordered_json::array();
  for (std::size_t run = 0; run < results.size(); ++run) {
    const json settings = settings_of(spec, run);
    ordered_json row = ordered_json::array();
    for (const std::string& key : spec.keys) row.push_back(ordered_json(settings[key]));
    for (const std::string& key : chosen) row.push_back(result_of(results[run], key));
    rows.push_back(std::move(row));
  }
  return {{"schema", "binade.sweep_table/1"},
          {"name", spec.name},
          {"columns", columns_of(spec, chosen)},
          {"rows", rows}};
}

ordered_json sweep_page(const SweepSpec& spec, std::span<const ordered_json> results,
                        std::span<const std::string> chosen, const std::string& x_key) {
  ordered_json plots = ordered_json::array();
  for (const std::string& key : chosen) {
    const bool number = std::ranges::any_of(
        results, [&](const ordered_json& result) { return result_of(result, key).is_number(); });
    if (number) plots.push_back(plot_json(sweep_plot(spec, results, x_key, key)));
  }
  std::string source = fmt::format("{} runs", results.size());
  if (!spec.base.empty()) source += " · all with " + spec.base.dump();
  Table table = sweep_table(spec, results, chosen);
  table.title = "";
  ordered_json section{{"experiment", spec.name},
                       {"tables", ordered_json::array({table_json(table)})},
                       {"plots", plots}};
  return {{"schema", "binade.sweep_page/1"},
          {"title", "Sweep " + spec.name},
          {"binade", version},
          {"source", source},
          {"results", ordered_json::array({std::move(section)})}};
}

}  // namespace binade
