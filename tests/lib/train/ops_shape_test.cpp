// SPDX-License-Identifier: Apache-2.0
//
// Ops that move values: where each value goes, and where its gradient goes.
#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_shape_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

TEST_CASE("gradients of moves are the differences") {
  const Tensor<double> x = drawn<double>({2, 3, 4}, 1);
  check_gradients([](Doubles& t, const Vars& v) { return reshape(t, v[0], {6, 4}); }, {x});
  const std::vector<std::vector<std::size_t>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const std::vector<std::size_t>& order : orders) {
    check_gradients([order](Doubles& t, const Vars& v) { return permute(t, v[0], order); }, {x});
  }
  check_gradients(
      [](Doubles& t, const Vars& v) {
        return embedding(t, v[0], {3, 0, 3, 3, 1});
      },
      {drawn<double>({5, 3}, 2)});
}

TEST_CASE("dimension i of a permuted tensor is dimension order[i]") {
  const Tensor<float> x = drawn<float>({2, 3, 5}, 3);
  Tape<float> tape;
  const Var y = permute(tape, tape.constant(x), {2, 0, 1});
  REQUIRE(tape.shape(y) == Shape{5, 2, 3});
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t c = 0; c < 5; ++c) {
        CHECK(tape.values(y)[(c * 2 + a) * 3 + b] == x.values[(a * 3 + b) * 5 + c]);
      }
    }
  }
}

TEST_CASE("embedding looks rows up, and a row used twice gets the sum of both gradients") {
  Tape<float> tape;
  const Var table = tape.input({{3, 2}, binary16, {1, 2, 3, 4, 5, 6}});
  const Var y = embedding(tape, table, {2, 0, 2});
  CHECK(tape.shape(y) == Shape{3, 2});
  CHECK(tape.values(y) == std::vector<float>{5, 6, 1, 2, 5, 6});
  const Var weights = tape.constant({{3, 2}, binary16, {1, 2, 4, 8, 16, 32}});
  tape.backward(sum(tape, mul(tape, y, weights)));
  CHECK(tape.gradient(table) == std::vector<float>{4, 8, 0, 0, 17, 34});
}

TEST_CASE("a wide embedding gets its gradient whatever threads share its columns") {
  Tape<double> tape;
  const Var table = tape.input(Tensor<double>({2, 200}));
  const Tensor<double> weights = drawn<double>({3, 200}, 4);
  const Var y = embedding(tape, table, {1, 0, 1});
  tape.backward(sum(tape, mul(tape, y, tape.constant(weights))));
  for (std::size_t j = 0; j < 200; ++j) {
    REQUIRE(tape.gradient(table)[j] == weights.values[200 + j]);
    REQUIRE(tape.gradient(table)[200 + j] == weights.values[j] + weights.values[400 + j]);
  }
}

TEST_CASE("moves that do not fit are refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({2, 3}));
  CHECK_THROWS_AS(reshape(tape, x, {5}), Error);
  CHECK_THROWS_AS(select(tape, x, 2), Error);
  CHECK_THROWS_AS(permute(tape, x, {0, 0}), Error);
  CHECK_THROWS_AS(permute(tape, x, {0}), Error);
  CHECK_THROWS_AS(permute(tape, x, {0, 2}), Error);
  CHECK_THROWS_WITH_AS(embedding(tape, x, {0, 2}), "embedding: index 2 at 1 is none of the 2 rows",
                       Error);
  CHECK_THROWS_AS(embedding(tape, x, {-1}), Error);
}

}  // namespace
}  // namespace binade::ops_shape_test
