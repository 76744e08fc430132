// SPDX-License-Identifier: Apache-2.0
//
// Workloads by name: batches depend on seed and step only, an epoch has each row once, and the twin
// in binary64 gets the same batches.
#include "lib/runs/workloads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "lib/text/error.h"

namespace binade::workloads_test {
namespace {

const std::string data = BINADE_SOURCE_ROOT "/experiments/data";

TEST_CASE("a batch is a function of seed and step, whatever was asked before") {
  const Workload<float> first = workload<float>("digits_mlp", data);
  const Workload<float> second = workload<float>("digits_mlp", data);
  const Batch<float> wanted = first.train_batch(3, 20);
  second.train_batch(1, 5);
  second.train_batch(3, 2);
  const Batch<float> got = second.train_batch(3, 20);
  CHECK(got.inputs.values == wanted.inputs.values);
  CHECK(got.targets == wanted.targets);
  CHECK(got.rows == 128);
  CHECK(got.inputs.shape == Shape{128, 64});
  CHECK(second.train_batch(4, 20).inputs.values != wanted.inputs.values);
  CHECK(second.train_batch(3, 21).inputs.values != wanted.inputs.values);
}

TEST_CASE("an epoch shows a row once") {
  const Workload<float> digits = workload<float>("digits_mlp", data, 1);
  std::map<std::vector<float>, int> seen;
  for (std::int64_t step = 0; step < 1000; ++step) {
    const Batch<float> batch = digits.train_batch(0, step);
    CHECK(batch.targets.size() == 1);
    seen[batch.inputs.values] += 1;
  }
  CHECK(seen.size() == 1000);  // no two images of the digits are equal
}

TEST_CASE("the twin in binary64 sees the same rows and begins with the same weights") {
  const Workload<float> digits = workload<float>("digits_tanh8", data);
  const Workload<double> twin = workload<double>("digits_tanh8", data);
  const Batch<float> a = digits.train_batch(1, 2);
  const Batch<double> b = twin.train_batch(1, 2);
  CHECK(a.targets == b.targets);
  CHECK(std::vector<double>(a.inputs.values.begin(), a.inputs.values.end()) == b.inputs.values);
  const Model<float> model = digits.make(5);
  const Model<double> other = twin.make(5);
  REQUIRE(model.parameters.size() == 16);
  const auto& w = model.parameters[4]->value.values;
  CHECK(std::vector<double>(w.begin(), w.end()) == other.parameters[4]->value.values);
}

TEST_CASE("each workload's network gives logits for all targets of its data") {
  int tried = 0;
  for (const WorkloadRow& row : workload_rows()) {
    CAPTURE(row.name);
    if (!missing_data(row.name).empty()) continue;
    const Workload<float> found = workload<float>(row.name, data);
    const Model<float> model = found.make(1);
    const Batch<float> trained = found.train_batch(1, 0);
    CHECK(trained.rows == row.batch);
    for (const Batch<float>& batch : {trained, found.test_batch(0)}) {
      Tape<float> tape;
      CHECK(tape.shape(model.forward(tape, batch, false))[0] == batch.targets.size());
    }
    ++tried;
  }
  CHECK(tried >= 2);  // those on the digits, whose data are committed
}

/// What tells a workload's network from the others': a parameter's shape, and how many parameters
/// there are.
struct Expected {
  std::string_view workload, parameter;
  Shape shape;
  std::size_t parameters;
};

TEST_CASE("workloads have the networks that their rows tell of") {
  const Expected expected[]{
      {"digits_mlp", "fc2.weight", {128, 128}, 6},
      {"digits_tanh8", "fc8.weight", {10, 64}, 16},
      {"fashion_cnn", "conv2.weight", {16, 8, 3, 3}, 10},
      {"char_transformer", "blocks.1.attn.qkv.weight", {96, 32}, 30},
  };
  for (const Expected& of : expected) {
    CAPTURE(of.workload);
    const Model<float> model = workload_row(of.workload).network.in_float(1, 96);
    CHECK(model.parameters.size() == of.parameters);
    const auto named = [&](const auto& p) { return p->name == of.parameter; };
    const auto parameter = std::ranges::find_if(model.parameters, named);
    REQUIRE(parameter != model.parameters.end());
    CHECK((*parameter)->value.shape == of.shape);
  }
}

TEST_CASE("tests are all rows of the test set, in batches") {
  const Workload<float> digits = workload<float>("digits_mlp", data);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < digits.test_batches; ++i) rows += digits.test_batch(i).rows;
  CHECK(rows > 300);
}

TEST_CASE("names and batches that there are not are refused") {
  CHECK_THROWS_AS(workload<float>("mnist", data), Error);
  CHECK_THROWS_AS(workload<float>("digits_mlp", data, 1 << 20), Error);
  CHECK_THROWS_AS(workload<float>("digits_mlp", data + "/nowhere"), Error);
  CHECK_THROWS_AS(workload_row("digits_mlp").data->read(data + "/nowhere"), Error);
}

TEST_CASE("a batch may be a whole epoch and no larger") {
  const std::size_t rows = epoch_rows(workload_row("digits_mlp").data->read(data));
  CHECK(workload<float>("digits_mlp", data, rows).train_batch(0, 0).rows == rows);
  check_batch("digits_mlp", rows, rows);
  check_batch("digits_mlp", 0, 128);
  CHECK_THROWS_AS(check_batch("digits_mlp", rows + 1, rows), Error);
  CHECK_THROWS_AS(check_batch("digits_mlp", 0, 127), Error);
  CHECK_THROWS_AS(workload<float>("digits_mlp", data, rows + 1), Error);
}

}  // namespace
}  // namespace binade::workloads_test
