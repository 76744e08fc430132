// SPDX-License-Identifier: Apache-2.0
//
// binade experiment: lists the questions, runs one or several, writes their figures as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/io/atomic_file.h"
#include "lib/report/paragraph.h"
#include "lib/study/experiment.h"
#include "lib/tensor/error.h"
#include "lib/tensor/version.h"

namespace binade {
namespace {

struct Arguments {
  std::vector<std::string> names;
  std::string json, data;
  bool quick = false;
};

/// BINADE_DATA, else the folder the program was built from.
std::string default_data_folder() {
  const char* folder = std::getenv("BINADE_DATA");
  return folder != nullptr && *folder != '\0' ? folder : BINADE_DATA_FOLDER;
}

const Experiment& experiment_named(const std::string& name) {
  const auto all = experiments();
  const auto found = std::ranges::find_if(all, [&](const Experiment& e) { return name == e.name; });
  if (found != all.end()) return *found;
  std::string known;
  for (const Experiment& e : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", e.name);
  throw Error(fmt::format("experiment {}: there is none; choose of {}", printable(name), known));
}

void list() {
  for (const Experiment& e : experiments()) {
    fmt::print("{}\n{}{}", e.name, wrapped(fmt::format("  asks      {}", e.question), 12),
               wrapped(fmt::format("  expected  {}", e.hypothesis), 12));
  }
}

int run(const Arguments& a) {
  std::vector<const Experiment*> chosen;
  for (const std::string& name : a.names) chosen.push_back(&experiment_named(name));
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  bool all_as_expected = true;
  for (const Experiment* e : chosen) {
    fmt::print("{}\n", wrapped(fmt::format("{}: {}", e->name, e->question), 0));
    const ExperimentInput input{.quick = a.quick,
                                .data_folder = a.data.empty() ? default_data_folder() : a.data,
                                .print = [](const std::string& text) {
                                  fmt::print("{}", text);
                                  std::fflush(stdout);
                                }};
    Outcome outcome = e->run(input);
    fmt::print("\n{}{}", wrapped(fmt::format("expected  {}", e->hypothesis), 10),
               wrapped(fmt::format("measured  {}: {}",
                                   outcome.as_expected ? "as expected" : "NOT as expected",
                                   outcome.verdict),
                       10));
    all_as_expected = all_as_expected && outcome.as_expected;
    results.push_back({{"experiment", e->name},
                       {"question", e->question},
                       {"hypothesis", e->hypothesis},
                       {"as_expected", outcome.as_expected},
                       {"verdict", outcome.verdict},
                       {"data", std::move(outcome.data)}});
  }
  if (!a.json.empty()) {
    const nlohmann::ordered_json out{
        {"schema", "binade.experiments/1"}, {"binade", version}, {"results", results}};
    write_file(a.json, out.dump(1) + "\n");
  }
  return all_as_expected ? 0 : exit_different;
}

void define(CLI::App& app, int& status) {
  const auto a = std::make_shared<Arguments>();
  app.require_subcommand(1);
  app.add_subcommand("list", "the experiments and what they ask")->callback([] { list(); });
  CLI::App& run_app = *app.add_subcommand(
      "run", "run experiments; exits 1 if a measurement contradicts its expectation");
  run_app.add_option("NAME", a->names, "experiments to run; see binade experiment list")
      ->required();
  run_app.add_flag("--quick", a->quick, "smaller runs that answer the same question");
  run_app.add_option("--json", a->json, "write all figures to this file");
  run_app.add_option("--data", a->data, "folder of the committed data (default: experiments/data)");
  run_app.callback([a, &status] { status = run(*a); });
}

}  // namespace

const Command experiment_command{
    "experiment", "runnable questions: where values die, which binades matter", &define};

}  // namespace binade
