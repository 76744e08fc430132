// SPDX-License-Identifier: Apache-2.0
//
// Reductions and losses: gradients, values worked out by hand, and one rounding at the end.
#include <cmath>

#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_loss_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

TEST_CASE("gradients of reductions and losses are the differences") {
  for (const Shape& shape : {Shape{1}, Shape{3, 4}, Shape{2, 3, 5}}) {
    CAPTURE(shape_text(shape));
    const Tensor<double> x = drawn<double>(shape, 1), y = drawn<double>(shape, 2);
    check_gradients([](Doubles& t, const Vars& v) { return sum(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return mean(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return mse_loss(t, v[0], v[1]); }, {x, y});
    check_gradients(
        [](Doubles& t, const Vars& v) { return binary_cross_entropy_with_logits(t, v[0], v[1]); },
        {x, y});
  }
}

TEST_CASE("gradients of losses of classes are the differences") {
  for (const std::size_t classes : {1U, 3U, 10U}) {
    const auto last = static_cast<std::int32_t>(classes) - 1;
    const std::vector<std::int32_t> target{0, last, last, last / 2};
    const Tensor<double> x = drawn<double>({4, classes}, 3);
    check_gradients([target](Doubles& t, const Vars& v) { return nll_loss(t, v[0], target); }, {x});
    check_gradients([target](Doubles& t, const Vars& v) { return cross_entropy(t, v[0], target); },
                    {x});
  }
}

TEST_CASE("losses are what their formulas give") {
  Tape<double> tape;
  const Var x = tape.constant({{2, 2}, binary64, {1, 2, 3, 5}});
  const Var y = tape.constant({{2, 2}, binary64, {0, 4, 3, 4}});
  CHECK(tape.values(sum(tape, x))[0] == 11);
  CHECK(tape.values(mean(tape, x))[0] == 2.75);
  CHECK(tape.values(nll_loss(tape, x, {1, 0}))[0] == -2.5);
  CHECK(tape.values(mse_loss(tape, x, y))[0] == 1.5);
  const Var zero = tape.constant({{2}, binary64, {0, 0}});
  const Var half = tape.constant({{2}, binary64, {0.5, 1}});
  CHECK(tape.values(binary_cross_entropy_with_logits(tape, zero, half))[0] == std::log(2.0));
  CHECK(tape.values(cross_entropy(tape, tape.constant(Tensor<double>({1, 4})), {2}))[0] ==
        std::log(4.0));
}

TEST_CASE("a binary cross entropy of large logits does not overflow") {
  Tape<float> tape;
  const Var x = tape.input({{2}, binary32, {1000, -1000}});
  const Var y = tape.constant({{2}, binary32, {1, 1}});
  const Var loss = binary_cross_entropy_with_logits(tape, x, y);
  CHECK(tape.values(loss)[0] == 500);
  tape.backward(loss);
  CHECK(tape.gradient(x) == std::vector<float>{0, -0.5F});
}

TEST_CASE("a sum of binary16 is rounded once, not term by term") {
  Tape<float> tape;
  Tensor<float> ones({4099}, binary16);
  ones.values.assign(ones.size(), 1);
  CHECK(tape.values(sum(tape, tape.constant(ones)))[0] == 4100);  // a chain stalls at 2048
}

TEST_CASE("squares that binary16 cannot hold survive inside of mse_loss") {
  Tape<float> tape;
  const Var x = tape.constant({{2}, binary16, {300, 300}});
  const Var y = tape.constant({{2}, binary16, {0, 0}});
  CHECK(std::isinf(tape.values(mse_loss(tape, x, y))[0]));  // 90000 > 65504, once rounded
  const Var mixed = tape.constant({{2}, binary16, {300, 0}});
  CHECK(tape.values(mse_loss(tape, mixed, y))[0] == 44992);  // 45000
}

TEST_CASE("targets that are no class are refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({2, 3}));
  CHECK_THROWS_WITH_AS(nll_loss(tape, x, {0, 3}),
                       "nll_loss: target 3 of row 1 is none of the 3 classes", Error);
  CHECK_THROWS_AS(nll_loss(tape, x, {0, -1}), Error);
  CHECK_THROWS_AS(nll_loss(tape, x, {0}), Error);
  CHECK_THROWS_AS(mse_loss(tape, x, tape.constant(Tensor<float>({3, 2}))), Error);
}

}  // namespace
}  // namespace binade::ops_loss_test
