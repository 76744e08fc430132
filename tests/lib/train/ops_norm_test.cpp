// SPDX-License-Identifier: Apache-2.0
//
// Normalisation: gradients, statistics, and dtypes of weights that are wider than x.
#include <cmath>

#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_norm_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

RunningStatistics<double> fresh(std::size_t channels) {
  return {std::vector<double>(channels), std::vector<double>(channels, 1)};
}

TEST_CASE("gradients of layer_norm are the differences") {
  for (const Shape& shape : {Shape{4}, Shape{3, 5}, Shape{2, 2, 33}}) {
    CAPTURE(shape_text(shape));
    check_gradients([](Doubles& t, const Vars& v) { return layer_norm(t, v[0], v[1], v[2], 1e-5); },
                    {drawn<double>(shape, 1), drawn<double>({shape.back()}, 2),
                     drawn<double>({shape.back()}, 3)});
  }
}

TEST_CASE("gradients of group_norm are the differences") {
  for (const std::size_t groups : {1U, 2U, 4U}) {
    CAPTURE(groups);
    check_gradients(
        [groups](Doubles& t, const Vars& v) {
          return group_norm(t, v[0], groups, v[1], v[2], 1e-5);
        },
        {drawn<double>({2, 4, 3, 2}, 1), drawn<double>({4}, 2), drawn<double>({4}, 3)});
  }
}

TEST_CASE("gradients of batch_norm are the differences, in training and in evaluation") {
  for (const bool training : {true, false}) {
    for (const Shape& shape : {Shape{5, 3}, Shape{3, 2, 2, 3}}) {
      CAPTURE(shape_text(shape));
      check_gradients(
          [training](Doubles& t, const Vars& v) {
            RunningStatistics<double> running = fresh(t.shape(v[1])[0]);
            running.mean[0] = 0.5;
            running.variance[0] = 3;
            return batch_norm(t, v[0], v[1], v[2], running, training, 1e-5);
          },
          {drawn<double>(shape, 1), drawn<double>({shape[1]}, 2), drawn<double>({shape[1]}, 3)});
    }
  }
}

TEST_CASE("two values in a row become -1 and 1 but for eps") {
  Tape<double> tape;
  const Var x = tape.constant({{1, 2}, binary64, {3, 7}});
  const Var weight = tape.constant({{2}, binary64, {2, 3}});
  const Var bias = tape.constant({{2}, binary64, {10, 20}});
  CHECK(tape.values(layer_norm(tape, x, weight, bias, 0.0)) == std::vector<double>{8, 23});
  CHECK(tape.values(layer_norm(tape, x, weight, bias, 12.0)) == std::vector<double>{9, 21.5});
}

TEST_CASE("group_norm normalises groups of channels, and weights are of channels") {
  Tape<double> tape;
  // Group 0: channels 0 and 1 hold 0 0 | 4 4, mean 2, deviation 2; group 1: 1 3 | 1 3.
  const Var x = tape.constant({{1, 4, 1, 2}, binary64, {0, 0, 4, 4, 1, 3, 1, 3}});
  const Var weight = tape.constant({{4}, binary64, {1, 2, 3, 4}});
  const Var bias = tape.constant({{4}, binary64, {0, 0, 0, 100}});
  CHECK(tape.values(group_norm(tape, x, 2, weight, bias, 0.0)) ==
        std::vector<double>{-1, -1, 2, 2, -3, 3, 96, 104});
}

TEST_CASE("batch_norm learns the batch's mean and unbiased variance, and evaluates with them") {
  Tape<double> tape;
  const Var x = tape.constant({{2, 2, 1, 2}, binary64, {1, 3, 0, 0, 5, 7, 8, 8}});
  const Var weight = tape.constant({{2}, binary64, {1, 1}});
  const Var bias = tape.constant({{2}, binary64, {0, 0}});
  RunningStatistics<double> running = fresh(2);
  running.momentum = 0.5;
  const Var y = batch_norm(tape, x, weight, bias, running, true, 0.0);
  CHECK(running.mean == std::vector<double>{2, 2});
  CHECK(running.variance == std::vector<double>{0.5 + 10.0 / 3, 0.5 + 32.0 / 3});
  CHECK(tape.values(y)[2] == -1);
  CHECK(tape.values(y)[6] == 1);
  running = {{1, 8}, {4, 16}};
  const Var evaluated = batch_norm(tape, x, weight, bias, running, false, 0.0);
  CHECK(tape.values(evaluated) == std::vector<double>{0, 1, -2, -2, 2, 3, 0, 0});
  CHECK(running.mean == std::vector<double>{1, 8});
}

/// Every norm, on x (2, 4, 2, 2) or its rows.
const std::vector<Differentiable<float>> norms{
    [](Tape<float>& t, const Vars& v) {
      return layer_norm(t, reshape(t, v[0], {8, 4}), v[1], v[2], 1e-5F);
    },
    [](Tape<float>& t, const Vars& v) { return group_norm(t, v[0], 2, v[1], v[2], 1e-5F); },
    [](Tape<float>& t, const Vars& v) {
      RunningStatistics<float> running{std::vector<float>(4), std::vector<float>(4, 1)};
      return batch_norm(t, v[0], v[1], v[2], running, true, 1e-5F);
    }};

TEST_CASE("weights in binary32 leave a norm of binary16 in binary16, rounded once") {
  Tensor<float> x = drawn<float>({2, 4, 2, 2}, 5);
  round_to(binary16, std::span(x.values));
  const Tensor<float> weight = drawn<float>({4}, 6), bias = drawn<float>({4}, 7);
  for (const Differentiable<float>& norm : norms) {
    std::vector<std::vector<float>> values, weight_gradients;
    for (const Format& dtype : {binary16, binary32}) {
      Tape<float> tape;
      const Var w = tape.input(weight);
      const Var y = norm(tape, {tape.input({x.shape, dtype, x.values}), w, tape.input(bias)});
      CHECK(tape.dtype(y) == dtype);
      values.push_back(tape.values(y));
      tape.backward(sum(tape, y));
      weight_gradients.push_back(tape.gradient(w));
    }
    CHECK(values[0] != values[1]);
    round_to(binary16, std::span(values[1]));
    CHECK(values[0] == values[1]);
    // The gradient of y is ones in both cases, and weights have their gradients in binary32.
    CHECK(weight_gradients[0] == weight_gradients[1]);
  }
}

TEST_CASE("a variance that binary16 cannot hold is in T") {
  Tape<float> tape;
  const Var x = tape.constant({{1, 2}, binary16, {-1000, 1000}});
  const Var weight = tape.constant({{2}, binary16, {1, 1}});
  const Var bias = tape.constant({{2}, binary16, {0, 0}});
  CHECK(tape.values(layer_norm(tape, x, weight, bias)) == std::vector<float>{-1, 1});
}

TEST_CASE("weights and statistics of another size are refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({2, 4, 2, 2}));
  const Var three = tape.constant(Tensor<float>({3})), four = tape.constant(Tensor<float>({4}));
  const auto statistics = [](std::size_t n) {
    return RunningStatistics<float>{std::vector<float>(n), std::vector<float>(n)};
  };
  RunningStatistics<float> fits = statistics(4), small = statistics(3);
  CHECK_THROWS_AS(layer_norm(tape, x, four, four), Error);
  CHECK_THROWS_AS(group_norm(tape, x, 3, four, four), Error);
  CHECK_THROWS_AS(group_norm(tape, x, 2, four, three), Error);
  CHECK_THROWS_AS(batch_norm(tape, x, three, four, fits, true), Error);
  CHECK_THROWS_AS(batch_norm(tape, x, four, four, small, true), Error);
  const Var one = tape.constant(Tensor<float>({1, 4}));
  CHECK_THROWS_AS(batch_norm(tape, one, four, four, fits, true), Error);
}

}  // namespace
}  // namespace binade::ops_norm_test
