// SPDX-License-Identifier: Apache-2.0
//
// Trainings as runs of a sweep: what is refused before the first, and which figures a run gives.
#include "lib/runs/train_job.h"

#include <doctest/doctest.h>

#include "lib/io/gzip.h"
#include "tests/lib/io/files.h"
#include "tests/lib/io/gzipped.h"

namespace binade::train_job_test {
namespace {

using nlohmann::ordered_json;
using test::error_of;
using test::has;

const std::string data = BINADE_SOURCE_ROOT "/experiments/data";

/// The Error of a sweep over these values of a key, which must leave no file.
std::string error_of_sweep(const std::string& base, const std::string& grid,
                           const std::string& folder = data) {
  const test::Folder results;
  const SweepSpec spec =
      parse_sweep("s", R"({"name": "n", "base": )" + base + R"(, "grid": )" + grid + "}");
  std::string error = error_of([&] { run_sweep(spec, results / "a.jsonl", train_job(folder)); });
  CHECK(results.count() == 0);
  return error;
}

TEST_CASE("what a training would refuse is refused before the results' file is there") {
  const std::string base = R"({"workload": "digits_mlp", "steps": 1})";
  CHECK(has(error_of_sweep(base, R"({"level": ["native", "O0"]})"),
            R"(run 2 of 2 {"level":"O0","steps":1,"workload":"digits_mlp"}: level O0 computes)"));
  CHECK(has(error_of_sweep(base, R"({"loss_shift": [0, 4], "level": ["native", "O3"]})"),
            "run 4 of 4"));
  CHECK(has(error_of_sweep(base, R"({"batch": [64, 5000]})"), "batch of 5000: the data of"));
  CHECK(has(error_of_sweep(base, R"({"seed": [1, 2]})", data + "/nowhere"), "run 1 of 2"));
  CHECK(has(error_of_sweep(base, R"({"scaler": ["torch", "none"], "init_scale": [4]})"),
            "init_scale has no effect with scaler none"));
}

/// The digests of the data in a folder that has the digits with the labels of two images exchanged,
/// or as they are.
std::map<std::string, std::uint64_t> digests_of_digits(bool exchanged) {
  std::string text = read_gzip(data + "/digits.csv.gz", std::size_t{1} << 20);
  const std::size_t first = text.find('\n') - 1;
  const std::size_t second = text.find('\n', first + 2) - 1;
  REQUIRE(text[first] != text[second]);
  if (exchanged) std::swap(text[first], text[second]);
  const test::Folder folder;
  folder.write("digits.csv.gz", test::gzipped(text));
  const SweepJob job = train_job(folder / "");
  job.check({{"workload", "digits_mlp"}, {"steps", 1}});
  job.check({{"workload", "digits_tanh8"}, {"steps", 1}});
  return job.data();
}

TEST_CASE("the digest of the data is of their contents: other labels, another digest") {
  const auto as_they_are = digests_of_digits(false);
  CHECK(as_they_are.size() == 1);
  CHECK(as_they_are.at("digits") != digests_of_digits(true).at("digits"));
  const SweepJob job = train_job(data);
  CHECK(job.data().empty());
  job.check({{"workload", "digits_mlp"}, {"steps", 1}});
  CHECK(job.data() == as_they_are);
}

TEST_CASE("a run has every figure that is announced, in their order, and none beside") {
  const SweepJob job = train_job(data);
  std::vector<double> told;
  const ordered_json result = job.run({{"workload", "digits_mlp"}, {"steps", 2}},
                                      [&](double done) { told.push_back(done); });
  CHECK(told == std::vector<double>{0.5, 1});
  CHECK(result["steps_done"] == 2);
  std::vector<std::string> always;
  for (const TrainResultKey& key : train_result_keys()) {
    if (key.always) always.emplace_back(key.name);
  }
  CHECK(job.keys == always);
  std::vector<std::string> found;
  for (const auto& [key, value] : result.items()) found.push_back(key);
  always.emplace_back("multiply_adds");
  CHECK(found == always);
}

}  // namespace
}  // namespace binade::train_job_test
