// SPDX-License-Identifier: Apache-2.0
//
// Layers that are matrix products: values by hand, gradients, shapes that do not fit.
#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_linear_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

TEST_CASE("linear is x times the weight's transpose plus the bias") {
  Tape<float> tape;
  const Var x = tape.constant({{2, 3}, binary32, {1, 2, 3, 4, 5, 6}});
  const Var weight = tape.constant({{2, 3}, binary32, {1, 0, -1, 2, 1, 0}});
  const Var bias = tape.constant({{2}, binary32, {10, 100}});
  const Var y = linear<float>(tape, x, weight, bias);
  CHECK(tape.shape(y) == Shape{2, 2});
  CHECK(tape.values(y) == std::vector<float>{8, 104, 8, 113});
}

TEST_CASE("matmul multiplies each pair of matrices") {
  Tape<float> tape;
  const Var a = tape.constant({{2, 1, 2}, binary32, {1, 2, 3, 4}});
  const Var b = tape.constant({{2, 2, 2}, binary32, {1, 2, 3, 4, 5, 6, 7, 8}});
  const Var y = matmul(tape, a, b);
  CHECK(tape.shape(y) == Shape{2, 1, 2});
  CHECK(tape.values(y) == std::vector<float>{7, 10, 43, 50});
}

TEST_CASE("gradients of both are the differences") {
  const Tensor<double> x = drawn<double>({2, 3, 4}, 1, -1, 1);
  check_gradients([](Doubles& t, const Vars& v) { return linear(t, v[0], v[1], v[2]); },
                  {x, drawn<double>({5, 4}, 2, -1, 1), drawn<double>({5}, 3, -1, 1)});
  check_gradients([](Doubles& t, const Vars& v) { return linear(t, v[0], v[1]); },
                  {drawn<double>({3, 4}, 5, -1, 1), drawn<double>({1, 4}, 6, -1, 1)});
  check_gradients([](Doubles& t, const Vars& v) { return matmul(t, v[0], v[1]); },
                  {x, drawn<double>({2, 4, 3}, 4, -1, 1)});
}

TEST_CASE("shapes that do not fit, and empty sums, are errors") {
  Tape<float> tape;
  const auto zeros = [&tape](const Shape& shape) { return tape.constant(Tensor<float>(shape)); };
  CHECK_THROWS_AS(linear<float>(tape, zeros({2, 3}), zeros({4, 2})), Error);
  CHECK_THROWS_AS(linear<float>(tape, zeros({2, 0}), zeros({4, 0})), Error);
  CHECK_THROWS_AS(linear<float>(tape, zeros({2, 3}), zeros({3})), Error);
  CHECK_THROWS_AS(matmul(tape, zeros({2, 3}), zeros({2, 3})), Error);
  CHECK_THROWS_AS(matmul(tape, zeros({2, 0}), zeros({0, 3})), Error);
  CHECK_THROWS_AS(matmul(tape, zeros({2, 2, 3}), zeros({3, 3, 2})), Error);
}

}  // namespace
}  // namespace binade::ops_linear_test
