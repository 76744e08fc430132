// SPDX-License-Identifier: Apache-2.0
//
// Runs an experiment, and writes its result as text and JSON.
#include "lib/runs/experiment_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/version.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 4> status_names{"as expected", "NOT as expected", "skipped",
                                                       "failed"};
constexpr std::array<const char*, 4> status_keys{"as_expected", "not_as_expected", "skipped",
                                                 "failed"};
constexpr std::array<const char*, 4> mark_names{"line", "points", "steps", "bars"};
constexpr std::array<const char*, 3> axis_names{"linear", "log2", "log10"};

template <class Enum>
std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

/// Throws Error if a table or a plot cannot be drawn.
void check(const Outcome& outcome) {
  const char* report = "please report it";
  for (const Table& table : outcome.tables) {
    for (const auto& row : table.rows) {
      if (row.size() == table.columns.size()) continue;
      throw error_in(
          fmt::format("table '{}'", table.title),
          fmt::format("a row of {} cells under {} columns", row.size(), table.columns.size()),
          report);
    }
  }
  for (const Plot& plot : outcome.plots) {
    for (const Series& series : plot.series) {
      if (series.x.size() == series.y.size()) continue;
      throw error_in(fmt::format("plot '{}', series '{}'", plot.title, series.name),
                     fmt::format("{} x and {} y", series.x.size(), series.y.size()), report);
    }
  }
}

nlohmann::ordered_json numbers(const std::vector<double>& values) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const double value : values) {
    if (std::isfinite(value)) {
      out.push_back(value);
    } else {
      out.push_back(nullptr);
    }
  }
  return out;
}

nlohmann::ordered_json tested_figure_json(const TestedFigure& figure) {
  const auto finite = [](std::optional<double> x) {
    return x && std::isfinite(*x) ? nlohmann::ordered_json(*x) : nlohmann::ordered_json();
  };
  const ExpectedFigure& e = figure.expected;
  return {{"key", e.key},
          {"what", e.what},
          {"stated", e.stated},
          {"low", finite(e.low)},
          {"high", finite(e.high)},
          {"given", e.given},
          {"measured", finite(figure.measured)},
          {"holds", figure.measured ? nlohmann::ordered_json(!figure.contradicts())
                                    : nlohmann::ordered_json()}};
}

template <class Item>
nlohmann::ordered_json each_as_json(const std::vector<Item>& items,
                                    nlohmann::ordered_json (*json)(const Item&)) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Item& item : items) out.push_back(json(item));
  return out;
}

Table table_of(const std::vector<TestedFigure>& figures) {
  Table table{"What was expected, figure by figure",
              {"figure", "expected", "within", "measured", "holds"},
              {}};
  for (const TestedFigure& f : figures) {
    table.rows.push_back({std::string(f.expected.what), std::string(f.expected.stated),
                          bounds_text(f.expected), measured_text(f),
                          !f.measured       ? "-"
                          : f.contradicts() ? "NO"
                                            : "yes"});
  }
  return table;
}

/// Returns the verdict, followed by the figures that lie outside of their bounds.
std::string with_misses(const std::string& verdict, const std::vector<TestedFigure>& figures) {
  std::string misses;
  for (const TestedFigure& f : figures) {
    if (!f.contradicts()) continue;
    misses += fmt::format("{}{} {} (expected {})", misses.empty() ? " NOT as stated: " : ", ",
                          f.expected.what, measured_text(f), f.expected.stated);
  }
  return misses.empty() ? verdict : verdict + misses + ".";
}

nlohmann::ordered_json experiment_run_json(const ExperimentRun& run, bool times) {
  const RunStatus status = status_of(run);
  nlohmann::ordered_json out{{"experiment", run.name},
                             {"question", run.question},
                             {"hypothesis", run.hypothesis},
                             {"status", status_keys[index_of(status)]},
                             {"verdict", verdict_of(run)}};
  if (times) out["seconds"] = std::round(run.seconds * 1000) / 1000;
  out["figures"] = each_as_json(run.figures, tested_figure_json);
  out["text"] = run.text;
  out["tables"] = each_as_json(run.outcome.tables, table_json);
  out["plots"] = each_as_json(run.outcome.plots, plot_json);
  out["data"] = run.outcome.data;
  return out;
}

}  // namespace

const Experiment& experiment_named(std::span<const Experiment> all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const Experiment& e) { return name == e.name; });
  if (found != all.end()) return *found;
  std::string known;
  for (const Experiment& e : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", e.name);
  throw Error(fmt::format("experiment {}: there is none; choose of {}", printable(name), known));
}

std::string heading_of(const Experiment& experiment) {
  return wrapped(fmt::format("{}: {}", experiment.name, experiment.question), 0);
}

std::string answer_of(const ExperimentRun& run) {
  std::string text;
  for (std::size_t i = 0; i < run.outcome.tables.size(); ++i) {
    const std::string table = table_text(run.outcome.tables[i]);
    text += (i == 0 && !run.text.empty() ? "\n" : "") + table.substr(0, table.size() - 1) +
            (i + 1 < run.outcome.tables.size() ? "\n" : "");
  }
  return text + "\n" + wrapped(fmt::format("expected  {}", run.hypothesis), 10) +
         wrapped(fmt::format("measured  {}: {}", status_words(status_of(run)), verdict_of(run)),
                 10);
}

RunStatus status_of(const ExperimentRun& run) {
  if (!run.failure.empty()) return RunStatus::failed;
  if (!run.outcome.skipped.empty()) return RunStatus::skipped;
  const bool missed = std::ranges::any_of(run.figures, &TestedFigure::contradicts);
  return run.outcome.as_expected && !missed ? RunStatus::as_expected : RunStatus::not_as_expected;
}

std::string_view status_words(RunStatus status) { return status_names[index_of(status)]; }

std::string_view verdict_of(const ExperimentRun& run) {
  switch (status_of(run)) {
    case RunStatus::failed: return run.failure;
    case RunStatus::skipped: return run.outcome.skipped;
    default: return run.outcome.verdict;
  }
}

ExperimentRun run_experiment(const Experiment& experiment, const ExperimentInput& input) {
  const std::vector<ExpectedFigure> figures = experiment.figures_of(input.quick);
  const Hypothesis hypothesis{experiment.text_of(input.quick), figures};
  ExperimentRun run{experiment.name, experiment.question, hypothesis_text(hypothesis)};
  ExperimentInput kept = input;
  kept.print = [&](const std::string& text) {
    run.text += text;
    if (input.print) input.print(text);
  };
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  try {
    Outcome outcome = experiment.run(kept);
    if (outcome.skipped.empty()) {
      run.figures = tested_figures(hypothesis, outcome.measured);
      if (!run.figures.empty()) outcome.tables.push_back(table_of(run.figures));
      outcome.verdict = with_misses(outcome.verdict, run.figures);
    }
    check(outcome);
    run.outcome = std::move(outcome);
  } catch (const std::exception& error) {  // the results of other experiments must not be lost
    if (input.on_exception) input.on_exception();
    run.failure = error.what();
    if (run.failure.empty()) run.failure = "an exception without words; please report it";
  }
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return run;
}

std::string summary_text(std::span<const ExperimentRun> runs, bool times) {
  std::size_t widest = std::string_view("experiment").size();
  for (const ExperimentRun& run : runs) widest = std::max(widest, run.name.size());
  const auto line = [&](std::string_view name, std::string_view status, const std::string& seconds,
                        std::string_view verdict) {
    std::string text = fmt::format("  {:<{}}  {:<15}  ", name, widest, status);
    if (times) text += fmt::format("{:>7}  ", seconds);
    const std::size_t indent = text.size();
    return wrapped(text + std::string(verdict), indent, std::max<std::size_t>(98, indent + 40));
  };
  std::string text = line("experiment", "measured", "seconds", "verdict");
  for (const ExperimentRun& run : runs) {
    text += line(run.name, status_words(status_of(run)), fmt::format("{:.1f}", run.seconds),
                 verdict_of(run));
  }
  return text;
}

nlohmann::ordered_json table_json(const Table& table) {
  return {{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}};
}

nlohmann::ordered_json plot_json(const Plot& plot) {
  nlohmann::ordered_json out{{"title", plot.title},
                             {"x_label", plot.x_label},
                             {"y_label", plot.y_label},
                             {"x_axis", axis_names[index_of(plot.x_axis)]},
                             {"y_axis", axis_names[index_of(plot.y_axis)]},
                             {"note", plot.note},
                             {"series", nlohmann::ordered_json::array()}};
  for (const Series& series : plot.series) {
    out["series"].push_back({{"name", series.name},
                             {"mark", mark_names[index_of(series.mark)]},
                             {"x", numbers(series.x)},
                             {"y", numbers(series.y)}});
  }
  return out;
}

nlohmann::ordered_json experiment_runs_json(std::span<const ExperimentRun> runs, bool quick,
                                            bool times,
                                            std::span<const Experiment* const> remaining) {
  const bool whole = remaining.empty();
  nlohmann::ordered_json out{
      {"schema", whole ? "binade.experiments/2" : "binade.experiments_unfinished/1"},
      {"binade", version},
      {"quick", quick}};
  for (const Experiment* e : remaining) out["remaining"].push_back(e->name);
  out["results"] = nlohmann::ordered_json::array();
  for (const ExperimentRun& run : runs) out["results"].push_back(experiment_run_json(run, times));
  return out;
}

}  // namespace binade
