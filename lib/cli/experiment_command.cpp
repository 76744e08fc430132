// SPDX-License-Identifier: Apache-2.0
//
// `binade experiment`: lists the experiments, runs one, several or all of them, and writes their
// figures as JSON and as a page. How long they took is printed only on a terminal, so that each run
// writes the same bytes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/data_option.h"
#include "lib/cli/files_first.h"
#include "lib/cli/progress.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/runs/data_folder.h"
#include "lib/runs/experiment.h"
#include "lib/runs/experiment_run.h"
#include "lib/runs/results_html.h"
#include "lib/runs/so_far_file.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct ExperimentArguments {
  std::vector<std::string> names;
  std::string json, html, dump, data;
  bool all = false;
  bool quick = false;
  bool times = false;
};

void list() {
  for (const Experiment& e : experiments()) {
    fmt::print("{}\n{}{}{}", e.name, wrapped(fmt::format("  asks      {}", e.question), 12),
               wrapped("  expected  " + hypothesis_text(e.hypothesis), 12),
               wrapped(fmt::format("  measured  {}", e.answer), 12));
  }
}

std::vector<const Experiment*> chosen_experiments(const ExperimentArguments& a) {
  std::vector<const Experiment*> chosen;
  if (a.all && !a.names.empty()) {
    throw Error("experiment run: --all and names do not go together; give one or the other");
  }
  if (a.all) {
    for (const Experiment& e : experiments()) chosen.push_back(&e);
  }
  for (const std::string& name : a.names) {
    const Experiment* e = &experiment_named(experiments(), name);
    if (std::ranges::find(chosen, e) != chosen.end()) {
      throw Error(fmt::format("experiment {} is named twice; once is enough", name));
    }
    chosen.push_back(e);
  }
  if (chosen.empty()) {
    throw Error("experiment run: no name; give one of binade experiment list, or --all");
  }
  return chosen;
}

/// The folder within --dump for the tensors of one experiment; empty if it is to write none.
std::string dump_folder(const ExperimentArguments& a, const Experiment& e) {
  return a.dump.empty() || !e.dumps ? "" : (std::filesystem::path(a.dump) / e.name).string();
}

std::vector<OutputPath> outputs_of(const ExperimentArguments& a,
                                   const std::vector<const Experiment*>& chosen) {
  std::vector<OutputPath> out{{"-o", a.html}, {"--json", a.json}};
  if (std::ranges::any_of(chosen, &Experiment::dumps)) {
    out.push_back({"--dump", a.dump, OutputKind::folder});
  }
  for (const Experiment* e : chosen) {
    out.push_back({"--dump", dump_folder(a, *e), OutputKind::folder});
  }
  return out;
}

/// Runs one experiment, after its heading.
ExperimentRun ask(const Experiment& e, const ExperimentArguments& a, StepLine& line) {
  fmt::print("{}", heading_of(e));
  if (!a.dump.empty() && !e.dumps) fmt::print("{} has no tensors to dump\n", e.name);
  fmt::print("\n");
  std::fflush(stdout);
  ExperimentInput input{
      .quick = a.quick,
      .data_folder = binade::data_folder(a.data),
      .progress = [&line](double done, std::string_view what) { line.update(done, what); },
      .dump_folder = dump_folder(a, e)};
  ExperimentRun run = run_experiment(e, input);
  line.wipe();
  return run;
}

/// Prints what an experiment said while it ran, and what it found.
void print_ended(const ExperimentRun& run) {
  fmt::print("{}{}", run.text, answer_of(run));
  std::fflush(stdout);
  if (status_of(run) == RunStatus::failed) {
    fmt::print(stderr, "binade: experiment {}: {}\n", run.name,
               printable(run.failure, std::string::npos));
  }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "took {:.1f} s\n", run.seconds);
}

/// The exit status: 2 if an experiment failed, else 1 if one contradicts its expectation, else 77
/// if all were skipped, else 0.
int status_of(std::span<const ExperimentRun> runs) {
  const auto count = [&](RunStatus status) {
    return static_cast<std::size_t>(std::ranges::count_if(
        runs, [status](const ExperimentRun& run) { return status_of(run) == status; }));
  };
  if (count(RunStatus::failed) > 0) return exit_bad_input;
  if (count(RunStatus::not_as_expected) > 0) return exit_different;
  return count(RunStatus::skipped) == runs.size() ? exit_skipped : 0;
}

int run_chosen(const ExperimentArguments& a) {
  const std::vector<const Experiment*> chosen = chosen_experiments(a);
  const MadeFolders folders = prepare_outputs(data_files(a.data), outputs_of(a, chosen));
  std::vector<ExperimentRun> runs;
  StepLine line;
  double seconds = 0;
  const SoFarFile json(a.json), html(a.html);
  const auto write = [&](std::span<const Experiment* const> remaining) {
    if (remaining.empty()) {
      const nlohmann::ordered_json results = experiment_runs_json(runs, a.quick, a.times);
      if (!a.json.empty()) write_file(a.json, json_text(results, 1) + "\n");
      if (!a.html.empty()) write_file(a.html, results_html(results));
      return;
    }
    const nlohmann::ordered_json so_far = experiment_runs_json(runs, a.quick, a.times, remaining);
    if (!a.json.empty()) json.write(so_far.dump(1) + "\n");
    if (!a.html.empty()) html.write(results_html(so_far));
  };
  for (const Experiment* e : chosen) {
    if (!runs.empty()) fmt::print("\n");
    line.begin(fmt::format("[{}/{}] {}", runs.size() + 1, chosen.size(), e->name));
    runs.push_back(ask(*e, a, line));
    seconds += runs.back().seconds;
    files_first([&] { write(std::span(chosen).subspan(runs.size())); },
                [&] { print_ended(runs.back()); });
  }
  if (runs.size() > 1) {
    fmt::print("\n{}", summary_text(runs, a.times));
    std::fflush(stdout);
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "{} experiments took {:.1f} s\n", runs.size(), seconds);
    }
  }
  return status_of(runs);
}

void define_experiment(App app, int& status) {
  const auto a = std::make_shared<ExperimentArguments>();
  app.require_subcommand(1, 1);
  app.add_subcommand("list", "list the experiments and what they ask",
                     "Prints the name of every experiment, the question that it asks and what is "
                     "expected as the answer.")
      .callback([] { list(); });
  const App run_app = app.add_subcommand(
      "run", "run experiments and compare what they measure with what is expected",
      "Runs experiments, prints the figures that each measures and whether they are as expected, "
      "and writes them to files on request.");
  run_app
      .add_option("NAME", a->names,
                  "names of experiments to run; `binade experiment list` prints all")
      .suggest([] { return words_of_table(experiments()); });
  run_app.add_flag("--all", a->all, "run all experiments");
  run_app.add_flag(
      "--quick", a->quick,
      "run with less data or fewer steps, so that each answers its question in less time");
  run_app.add_output("-o,--output", a->html,
                     "write a page (HTML) with tables and plots to this file; while experiments "
                     "remain, it shows those that are done, and names the others");
  run_app.add_output("--json", a->json,
                     "write all figures to this file, as JSON; while experiments remain, it has "
                     "another schema, and names them");
  run_app.add_output("--dump", a->dump,
                     "write tensors of the trainings to this folder, in folders by experiment and "
                     "run; `binade report` reads one run at a time");
  add_data_option(run_app, a->data);
  run_app.add_flag("--times", a->times,
                   "write the seconds that each experiment took into summary, page and JSON, in "
                   "which two runs then differ");
  run_app.footer(
      "\nExit status: 0 all is as expected, 1 a measurement contradicts its expectation, 2 an "
      "experiment failed or an\nargument is wrong, 77 all experiments were skipped since data are "
      "missing.\n\n"
      "Examples:\n"
      "  binade experiment run --all --quick\n"
      "  binade experiment run band_ablation -o bands.html");
  run_app.callback([a, &status] { status = run_chosen(*a); });
}

}  // namespace

const Command experiment_command{
    "experiment", "run experiments: which values are lost, and which binades matter to a training",
    "Lists and runs experiments on reduced precision. Each asks a question, such as which binades "
    "of the gradients matter to a training, measures figures, and compares them with what is "
    "expected.",
    &define_experiment, "[experiments](experiments/README.md)"};

}  // namespace binade
