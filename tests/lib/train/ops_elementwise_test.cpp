// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops: values, broadcasting, one rounding for each op, and gradients.
#include <cmath>
#include <limits>

#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_elementwise_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

const std::vector<std::pair<Shape, Shape>> shapes{
    {{7}, {7}}, {{3, 4}, {3, 4}}, {{2, 3, 4}, {4}}, {{4}, {2, 3, 4}}, {{2, 5}, {1}}, {{1}, {3}}};

TEST_CASE("gradients of sums, differences, products and quotients are the differences") {
  for (const auto& pair : shapes) {
    const auto& [a, b] = pair;
    CAPTURE(shape_text(pair.first));
    CAPTURE(shape_text(pair.second));
    const Tensor<double> x = drawn<double>(a, 1), y = drawn<double>(b, 2);
    check_gradients([](Doubles& t, const Vars& v) { return add(t, v[0], v[1]); }, {x, y});
    check_gradients([](Doubles& t, const Vars& v) { return sub(t, v[0], v[1]); }, {x, y});
    check_gradients([](Doubles& t, const Vars& v) { return mul(t, v[0], v[1]); }, {x, y});
    check_gradients([](Doubles& t, const Vars& v) { return div(t, v[0], v[1]); },
                    {x, drawn<double>(b, 3, 0.5, 2)});
  }
}

TEST_CASE("gradients of functions of one element are the differences") {
  for (const Shape& shape : {Shape{5}, Shape{2, 3, 2}}) {
    const Tensor<double> x = drawn<double>(shape, 4), positive = drawn<double>(shape, 5, 0.5, 2);
    check_gradients([](Doubles& t, const Vars& v) { return scale(t, v[0], -0.75); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return exp(t, v[0]); }, {x});
    check_gradients([](Doubles& t, const Vars& v) { return log(t, v[0]); }, {positive});
    for (const int exponent : {-2, -1, 0, 1, 2, 3, 5}) {
      CAPTURE(exponent);
      check_gradients([exponent](Doubles& t, const Vars& v) { return pow(t, v[0], exponent); },
                      {positive});
    }
  }
}

TEST_CASE("the end of a longer shape is repeated, and its gradient is the sum over the repeats") {
  Tape<float> tape;
  const Var x = tape.input({{2, 3}, binary32, {1, 2, 3, 4, 5, 6}});
  const Var row = tape.input({{3}, binary32, {10, 20, 30}});
  const Var one = tape.input({{1}, binary32, {100}});
  const Var y = sub(tape, add(tape, row, x), one);
  CHECK(tape.shape(y) == Shape{2, 3});
  CHECK(tape.values(y) == std::vector<float>{-89, -78, -67, -86, -75, -64});
  const Var weights = tape.constant({{2, 3}, binary32, {1, 2, 4, 8, 16, 32}});
  tape.backward(sum(tape, mul(tape, y, weights)));
  CHECK(tape.gradient(x) == std::vector<float>{1, 2, 4, 8, 16, 32});
  CHECK(tape.gradient(row) == std::vector<float>{9, 18, 36});
  CHECK(tape.gradient(one) == std::vector<float>{-63});
}

TEST_CASE("long repeats cross the pieces of the threads") {
  const Tensor<double> x = drawn<double>({1001, 37}, 6), row = drawn<double>({37}, 7);
  Tape<double> tape;
  const Var y = mul(tape, tape.constant(row), tape.constant(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    REQUIRE(tape.values(y)[i] == x.values[i] * row.values[i % 37]);
  }
}

TEST_CASE("shapes that do not end alike are refused") {
  Tape<float> tape;
  const Var a = tape.constant(Tensor<float>({2, 3})), b = tape.constant(Tensor<float>({2}));
  CHECK_THROWS_WITH_AS(add(tape, a, b), "add of (2, 3) and (2,): the shapes do not fit", Error);
}

TEST_CASE("a result is rounded once to the widest of the inputs' dtypes") {
  Tape<float> tape;
  const Var a = tape.input({{2}, binary16, {2048, 1}});
  const Var b = tape.input({{2}, binary16, {1, 0x1p-11F}});
  const Var wide = tape.input({{2}, binary32, {1, 0x1p-11F}});
  CHECK(tape.values(add(tape, a, b)) == std::vector<float>{2048, 1});
  CHECK(tape.dtype(add(tape, a, b)) == binary16);
  CHECK(tape.values(add(tape, a, wide)) == std::vector<float>{2049, 1 + 0x1p-11F});
  CHECK(tape.dtype(add(tape, a, wide)) == binary32);
}

TEST_CASE("a gradient is rounded to the dtype of what it belongs to") {
  Tape<float> tape;
  const Var a = tape.input({{1}, binary16, {1}});
  const Var wide = tape.input({{1}, binary32, {1 + 0x1p-12F}});
  tape.backward(mul(tape, a, wide));
  CHECK(tape.gradient(a) == std::vector<float>{1});
  CHECK(tape.gradient(wide) == std::vector<float>{1});
}

TEST_CASE("exp of binary16 is infinite from 11.09375 on, and the last below is finite") {
  Tape<float> tape;
  const Var x = tape.input({{2}, binary16, {11.0859375F, 11.09375F}});
  const Var y = exp(tape, x);
  CHECK(tape.values(y) == std::vector<float>{65248, std::numeric_limits<float>::infinity()});
}

TEST_CASE("whole powers multiply one factor after another") {
  Tape<float> tape;
  const float x = 1.1F;
  const Var v = tape.constant({{1}, binary32, {x}});
  CHECK(tape.values(pow(tape, v, 0))[0] == 1);
  CHECK(tape.values(pow(tape, v, 5))[0] == x * x * x * x * x);
  CHECK(tape.values(pow(tape, v, -3))[0] == 1 / (x * x * x));
}

}  // namespace
}  // namespace binade::ops_elementwise_test
