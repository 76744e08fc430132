// SPDX-License-Identifier: Apache-2.0
//
// Activations and softmaxes: gradients, edges, and one rounding at the end.
#include <cmath>
#include <limits>

#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_activation_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_CASE("gradients of activations are the differences") {
  for (const Shape& shape : {Shape{9}, Shape{2, 5}, Shape{2, 2, 3}}) {
    CAPTURE(shape_text(shape));
    const Tensor<double> x = drawn<double>(shape, 1, -3, 3);
    check_gradients([](Doubles& t, const Vars& v) { return relu(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return tanh(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return sigmoid(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return gelu(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return softmax(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return log_softmax(t, v[0]); }, {x});
  }
}

TEST_CASE("relu keeps NaN, and passes no gradient at zero") {
  Tape<float> tape;
  const Var x = tape.input({{5}, binary32, {-1, 0, 2, inf, -inf}});
  const Var y = relu(tape, x);
  CHECK(tape.values(y) == std::vector<float>{0, 0, 2, inf, 0});
  tape.backward(sum(tape, y), 3);
  CHECK(tape.gradient(x) == std::vector<float>{0, 0, 3, 3, 0});
  const Var nan = tape.constant({{1}, binary32, {std::nanf("")}});
  CHECK(std::isnan(tape.values(relu(tape, nan))[0]));
}

TEST_CASE("saturated activations are exact and have no gradient") {
  Tape<float> tape;
  const Var x = tape.input({{2}, binary32, {-1000, 1000}});
  CHECK(tape.values(tanh(tape, x)) == std::vector<float>{-1, 1});
  CHECK(tape.values(sigmoid(tape, x)) == std::vector<float>{0, 1});
  CHECK(tape.values(gelu(tape, x)) == std::vector<float>{0, 1000});
  tape.backward(sum(tape, sigmoid(tape, x)));
  CHECK(tape.gradient(x) == std::vector<float>{0, 0});
}

TEST_CASE("softmax subtracts the largest, so that large logits do not overflow") {
  Tape<float> tape;
  const Var x = tape.input({{2, 2}, binary16, {60000, 60000, -60000, 60000}});
  CHECK(tape.values(softmax(tape, x)) == std::vector<float>{0.5F, 0.5F, 0, 1});
  const Var masked = tape.input({{3}, binary32, {-inf, 1, -inf}});
  CHECK(tape.values(softmax(tape, masked)) == std::vector<float>{0, 1, 0});
}

TEST_CASE("log_softmax keeps log(2) beside large logits") {
  Tape<double> tape;
  const Var x = tape.input({{2}, binary64, {1e9, 1e9}});
  CHECK(tape.values(log_softmax(tape, x)) == std::vector<double>(2, -std::log(2.0)));
}

TEST_CASE("softmax of binary16 is rounded once, after the division") {
  const Tensor<float> x = drawn<float>({64}, 2, -8, 8);
  Tensor<float> half = x;
  half.dtype = binary16;
  round_to(binary16, std::span(half.values));
  Tape<float> tape;
  const Var wide = tape.constant({half.shape, binary32, half.values});
  std::vector<float> expected = tape.values(softmax(tape, wide));
  round_to(binary16, std::span(expected));
  CHECK(tape.values(softmax(tape, tape.constant(half))) == expected);
}

TEST_CASE("a softmax over nothing is refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({3, 0}));
  CHECK_THROWS_WITH_AS(softmax(tape, x), "softmax of shape (3, 0): its last dimension is empty",
                       Error);
}

}  // namespace
}  // namespace binade::ops_activation_test
