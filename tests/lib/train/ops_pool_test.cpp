// SPDX-License-Identifier: Apache-2.0
//
// Pooling against plain loops over windows, and its gradients.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_pool_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

const std::vector<Window> windows{{1, 1, 0}, {2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {2, 3, 1}, {3, 3, 0}};

TEST_CASE("gradients of pooling are the differences") {
  for (const Window& window : windows) {
    CAPTURE(window.size);
    CAPTURE(window.stride);
    const Tensor<double> x = drawn<double>({2, 2, 5, 4}, 1);
    check_gradients([window](Doubles& t, const Vars& v) { return max_pool2d(t, v[0], window); },
                    {x});
    check_gradients([window](Doubles& t, const Vars& v) { return avg_pool2d(t, v[0], window); },
                    {x});
  }
}

/// The value of x, plane by plane, or `outside`.
double at(const Tensor<double>& x, std::size_t plane, std::ptrdiff_t row, std::ptrdiff_t column,
          double outside) {
  const auto h = static_cast<std::ptrdiff_t>(x.shape[2]);
  const auto w = static_cast<std::ptrdiff_t>(x.shape[3]);
  if (row < 0 || column < 0 || row >= h || column >= w) return outside;
  return x.values[plane * x.shape[2] * x.shape[3] + static_cast<std::size_t>(row * w + column)];
}

TEST_CASE("pooled values are the windows' largest and means") {
  Tensor<double> x = drawn<double>({2, 3, 7, 6}, 2, -100, 100);
  for (double& v : x.values) v = std::round(v);  // sums are exact
  for (const Window& window : windows) {
    Tape<double> tape;
    const Var in = tape.constant(x);
    const Var most = max_pool2d(tape, in, window), average = avg_pool2d(tape, in, window);
    const Shape& shape = tape.shape(most);
    CHECK(shape[2] == (7 + 2 * window.padding - window.size) / window.stride + 1);
    CHECK(shape[3] == (6 + 2 * window.padding - window.size) / window.stride + 1);
    REQUIRE(tape.shape(average) == shape);
    const auto k = static_cast<std::ptrdiff_t>(window.size);
    for (std::size_t i = 0; i < tape.values(most).size(); ++i) {
      const std::size_t plane = i / (shape[2] * shape[3]);
      const auto first = [&window](std::size_t n) {
        return static_cast<std::ptrdiff_t>(n * window.stride) -
               static_cast<std::ptrdiff_t>(window.padding);
      };
      const std::ptrdiff_t top = first(i / shape[3] % shape[2]), left = first(i % shape[3]);
      double largest = -std::numeric_limits<double>::infinity(), total = 0;
      for (std::ptrdiff_t r = top; r < top + k; ++r) {
        for (std::ptrdiff_t c = left; c < left + k; ++c) {
          largest = std::max(largest, at(x, plane, r, c, largest));
          total += at(x, plane, r, c, 0);
        }
      }
      REQUIRE(tape.values(most)[i] == largest);
      REQUIRE(tape.values(average)[i] == total / static_cast<double>(k * k));
    }
  }
}

TEST_CASE("the first of equal largest elements takes the gradient, and NaN is the largest") {
  Tape<float> tape;
  const Var x = tape.input({{1, 1, 2, 2}, binary32, {1, 7, 7, 7}});
  tape.backward(sum(tape, max_pool2d(tape, x, {2, 2, 0})));
  CHECK(tape.gradient(x) == std::vector<float>{0, 1, 0, 0});
  const Var nan = tape.constant({{1, 1, 1, 3}, binary32, {1, std::nanf(""), 2}});
  CHECK(std::isnan(tape.values(max_pool2d(tape, nan, {1, 2, 0}))[0]) == false);
  const Var wide = tape.constant({{1, 1, 2, 2}, binary32, {1, std::nanf(""), 2, 3}});
  CHECK(std::isnan(tape.values(max_pool2d(tape, wide, {2, 1, 0}))[0]));
}

TEST_CASE("windows that do not fit are refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({1, 1, 2, 2}));
  CHECK_THROWS_AS(max_pool2d(tape, x, {3, 1, 0}), Error);
  CHECK_THROWS_AS(max_pool2d(tape, x, {2, 0, 0}), Error);
  CHECK_THROWS_AS(avg_pool2d(tape, x, {2, 1, 2}), Error);
  CHECK_THROWS_AS(avg_pool2d(tape, x, {2, 1, ~std::size_t{0} / 2 + 2}), Error);
  for (const Shape& empty : {Shape{1, 1, 0, 2}, Shape{1, 1, 2, 0}}) {
    CHECK_THROWS_AS(max_pool2d(tape, tape.constant(Tensor<float>(empty)), {2, 1, 1}), Error);
  }
  CHECK_THROWS_AS(avg_pool2d(tape, tape.constant(Tensor<float>({2, 2})), {1, 1, 0}), Error);
}

}  // namespace
}  // namespace binade::ops_pool_test
