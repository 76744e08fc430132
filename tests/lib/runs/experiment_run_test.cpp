// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a run, and which outcomes are refused because no reader could be shown them.
#include "lib/runs/experiment_run.h"

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::experiment_run_test {
namespace {

using test::has;

ExperimentRun run(Outcome (*function)(const ExperimentInput&), std::string* printed = nullptr) {
  const ExperimentInput input{.print = [printed](const std::string& text) {
    if (printed != nullptr) *printed += text;
  }};
  return run_experiment({"name", "question?", "answer.", {"hypothesis."}, function}, input);
}

TEST_CASE("what is printed goes on to the reader and is kept") {
  std::string printed;
  const ExperimentRun done = run(
      [](const ExperimentInput& input) {
        input.print("one ");
        input.print("two");
        return Outcome{.as_expected = true, .verdict = "yes."};
      },
      &printed);
  CHECK(printed == "one two");
  CHECK(done.text == "one two");
  CHECK(done.name == "name");
  CHECK(status_of(done) == RunStatus::as_expected);
  CHECK(verdict_of(done) == "yes.");
}

TEST_CASE("an Error is the run's failure, and what was printed before it is kept") {
  const ExperimentRun done = run([](const ExperimentInput& input) -> Outcome {
    input.print("before");
    throw Error("a: b; c");
  });
  CHECK(status_of(done) == RunStatus::failed);
  CHECK(verdict_of(done) == "a: b; c");
  CHECK(done.text == "before");
}

TEST_CASE("a skipped run is neither as expected nor not") {
  const ExperimentRun done = run([](const ExperimentInput&) {
    return Outcome{.as_expected = true, .verdict = "yes.", .skipped = "no data."};
  });
  CHECK(status_of(done) == RunStatus::skipped);
  CHECK(verdict_of(done) == "no data.");
}

TEST_CASE("tables and series whose parts differ in length fail their run and are not kept") {
  const ExperimentRun table = run([](const ExperimentInput&) {
    return Outcome{.tables = {{"t", {"a", "b"}, {{"1", "2"}, {"3"}}}}};
  });
  CHECK(has(table.failure, "table 't': a row of 1 cells under 2 columns"));
  CHECK(table.outcome.tables.empty());
  const ExperimentRun plot = run([](const ExperimentInput&) {
    return Outcome{.plots = {{.title = "p",
                              .x_label = "",
                              .y_label = "",
                              .series = {{"s", {1, 2}, {3}}},
                              .note = ""}}};
  });
  CHECK(has(plot.failure, "plot 'p', series 's': 2 x and 1 y"));
  CHECK(plot.outcome.plots.empty());
}

TEST_CASE("any other exception fails the run alone") {
  const ExperimentRun done =
      run([](const ExperimentInput&) -> Outcome { throw std::runtime_error("no memory"); });
  CHECK(status_of(done) == RunStatus::failed);
  CHECK(done.failure == "no memory");
}

TEST_CASE("numbers that are not finite are gaps in JSON") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Plot plot{.title = "",
                  .x_label = "",
                  .y_label = "",
                  .series = {{"s", {1, 2, 3}, {-inf, 0.1, NAN}}},
                  .note = ""};
  CHECK(plot_json(plot)["series"][0]["y"].dump() == "[null,0.1,null]");
}

TEST_CASE("the summary keeps its columns where names are long and verdicts wrap") {
  std::vector<ExperimentRun> runs(2);
  runs[0].name = "a_name_longer_than_the_head";
  runs[0].outcome = {.as_expected = true,
                     .verdict = std::string(30, 'x') + " " + std::string(30, 'y')};
  runs[1].name = "b";
  runs[1].failure = "f.";
  runs[1].seconds = 12.34;
  CHECK(summary_text(runs, false) ==
        "  experiment                   measured         verdict\n"
        "  a_name_longer_than_the_head  as expected      " +
            std::string(30, 'x') + "\n" + std::string(48, ' ') + std::string(30, 'y') + "\n" +
            "  b                            failed           f.\n");
  CHECK(has(summary_text(runs, true),
            "  b                            failed              12.3  f.\n"));
}

}  // namespace
}  // namespace binade::experiment_run_test
