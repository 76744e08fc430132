// SPDX-License-Identifier: Apache-2.0
//
// `binade sweep`: trains once for every combination of settings, writes a line for each run, and
// shows the results as a table and as a page of plots. If it was interrupted, the same command
// continues it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/data_option.h"
#include "lib/cli/files_first.h"
#include "lib/cli/progress.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/runs/data_folder.h"
#include "lib/runs/results_html.h"
#include "lib/runs/sweep.h"
#include "lib/runs/sweep_results.h"
#include "lib/runs/sweep_table.h"
#include "lib/runs/train_job.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct SweepArguments {
  std::string spec, results, json, html, x, data;
  std::vector<std::string> chosen;
};

/// The file of the results: that of -o, else that of the spec with .jsonl in the place of its
/// ending.
std::string results_path(const SweepArguments& a) {
  if (!a.results.empty()) return a.results;
  return std::filesystem::path(a.spec).replace_extension(".jsonl").string();
}

std::string x_key(const SweepArguments& a, const SweepSpec& spec) {
  if (a.x.empty()) return plot_key(spec);
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    if (spec.keys[i] != a.x) continue;
    if (std::ranges::all_of(spec.values[i], [](const auto& v) { return v.is_number(); }))
      return a.x;
    throw Error(fmt::format("--x {}: its values are not all numbers; give a key of numbers",
                            printable(a.x)));
  }
  std::vector<std::string> keys;
  for (const std::string& key : spec.keys) keys.push_back(printable(key));
  const std::vector<std::string_view> known(keys.begin(), keys.end());
  throw Error(fmt::format("--x {}: no key of the grid{}; there are {}", printable(a.x),
                          did_you_mean(a.x, known), listed(known)));
}

std::string help() {
  std::string usual, others;
  for (const TrainResultKey& key : train_result_keys()) {
    std::string& names = key.usual ? usual : others;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", key.name);
  }
  return fmt::format(
      "Settings are those of `binade train` (see binade train --help), as JSON: numbers, true, "
      "false, texts.\n"
      "Results that are not finite are null in JSON and NaN or inf in the table. A training that "
      "diverged or\n"
      "gave up is a result like any other (not_finite, gave_up).\n"
      "Results shown: {}; by --result also\n{}.\n\n"
      "Exit status: 0 all runs are done, 2 an argument, the spec or a file cannot be used.\n\n"
      "Example, for a file lr.json of\n"
      "{{\"name\": \"lr\", \"base\": {{\"workload\": \"digits_mlp\"}}, \"grid\": {{\"lr\": [0.05, "
      "0.1], \"seed\": [1, "
      "2]}}}}\n"
      "  binade sweep lr.json --html lr.html",
      usual, others);
}

void run_sweep(const SweepArguments& a) {
  const SweepSpec spec = read_sweep(a.spec);
  const std::string x = x_key(a, spec);
  const std::vector<std::string> chosen = chosen_results(a.chosen);
  std::vector<InputPath> read = data_files(a.data);
  read.push_back({"SPEC", a.spec});
  prepare_outputs(read, std::array{OutputPath{"-o", results_path(a), OutputKind::appended},
                                   OutputPath{"--json", a.json}, OutputPath{"--html", a.html}});
  StepLine line;
  line.begin(printable(spec.name));
  std::optional<std::size_t>
      first;  // the first run of this call: earlier ones were in the file and took no time
  const auto progress = [&](std::size_t i, double done) {
    if (!first) first = i;
    line.update(
        (static_cast<double>(i - *first) + done) / static_cast<double>(spec.runs() - *first),
        fmt::format("run {} of {}", i + 1, spec.runs()));
  };
  const SweepResults sweep =
      run_sweep(spec, results_path(a), train_job(data_folder(a.data)), progress);
  line.wipe();
  if (sweep.found > 0) {
    fmt::print(stderr, "{} of {} runs were in {} already\n", sweep.found, spec.runs(),
               printable(results_path(a), longest_path));
  }
  const auto write = [&] {
    if (!a.json.empty())
      write_file(a.json, json_text(sweep_json(spec, sweep.results, chosen), 1) + "\n");
    if (!a.html.empty())
      write_file(a.html, results_html(sweep_page(spec, sweep.results, chosen, x)));
  };
  files_first(write,
              [&] { fmt::print("{}", table_text(sweep_table(spec, sweep.results, chosen))); });
}

void define_sweep(App app, int&) {
  const auto a = std::make_shared<SweepArguments>();
  app.footer(help());
  app.add_option(
         "SPEC", a->spec,
         R"(JSON file of what to run: {"name": "...", "base": {settings}, "grid": {"key": [values], ...}})")
      .suggest_files()
      .required();
  app.add_output(
      "-o,--output", a->results,
      "file of the results, a line of JSON for each run (default: SPEC with the ending .jsonl). "
      "Runs that it holds already are not run again, so a sweep that was interrupted goes on; a "
      "file of another version of binade or of other data, or with a line that is not as it was "
      "written, is refused");
  app.add_option("--result", a->chosen,
                 "names of the results to show instead of the usual ones, separated by commas, in "
                 "this order")
      .delimiter(',')
      .allow_extra_args(false);
  app.add_output("--json", a->json, "write the table to this file, as JSON");
  app.add_output("--html", a->html, "write a page (HTML) with a plot of each result to this file");
  app.add_option("--x", a->x,
                 "key of the grid over which to plot (default: the one that has most numbers)");
  add_data_option(app, a->data);
  app.callback([a] { run_sweep(*a); });
}

}  // namespace

const Command sweep_command{
    "sweep", "train with every combination of settings; an interrupted sweep goes on",
    "Trains a network once for every combination of the settings in a grid, writes a "
    "line of results for each run, and prints them as a table.",
    &define_sweep, "[train](lib/train/README.md#many-trainings)"};

}  // namespace binade
