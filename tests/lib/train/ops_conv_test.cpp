// SPDX-License-Identifier: Apache-2.0
//
// Convolution against its sum, tap by tap, and the emulated product that it computes.
#include <cmath>

#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_conv_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

struct Case {
  Shape x;
  std::size_t out;
  Window window;
};
const std::vector<Case> cases{{{1, 1, 3, 3}, 1, {1, 1, 0}}, {{2, 3, 5, 4}, 2, {3, 1, 1}},
                              {{2, 2, 5, 6}, 3, {3, 2, 1}}, {{1, 2, 4, 4}, 2, {2, 2, 0}},
                              {{2, 1, 6, 5}, 2, {3, 3, 2}}, {{1, 2, 3, 3}, 1, {3, 1, 0}}};

TEST_CASE("gradients of convolutions are the differences") {
  for (const Case& c : cases) {
    CAPTURE(shape_text(c.x));
    const Tensor<double> x = drawn<double>(c.x, 1);
    const Tensor<double> weight =
        drawn<double>({c.out, c.x[1], c.window.size, c.window.size}, 2, -1, 1);
    check_gradients(
        [&c](Doubles& t, const Vars& v) { return conv2d(t, v[0], v[1], v[2], c.window); },
        {x, weight, drawn<double>({c.out}, 3)});
    check_gradients([&c](Doubles& t, const Vars& v) { return conv2d(t, v[0], v[1], {}, c.window); },
                    {x, weight});
  }
}

/// Whole numbers in [-8, 8): products and sums are exact in any order.
template <std::floating_point T>
Tensor<T> whole(Shape shape, std::uint64_t seed) {
  Tensor<T> out = drawn<T>(std::move(shape), seed, -8, 8);
  for (T& x : out.values) x = std::floor(x);
  return out;
}

/// y and, for the gradient dy, dx and dw, summed over taps.
struct Sums {
  std::vector<float> y, dx, dw;
};

Sums by_taps(const Case& k, const Tensor<float>& x, const Tensor<float>& w, const Shape& out,
             const Tensor<float>& dy) {
  Sums sums{std::vector<float>(elements(out)), std::vector<float>(x.size()),
            std::vector<float>(w.size())};
  const std::size_t c = k.x[1], h = k.x[2], wide = k.x[3], size = k.window.size;
  for (std::size_t i = 0; i < sums.y.size(); ++i) {
    const std::size_t s = i % out[3], r = i / out[3] % out[2], o = i / out[3] / out[2] % out[1];
    const std::size_t n = i / out[3] / out[2] / out[1];
    for (std::size_t tap = 0; tap < c * size * size; ++tap) {
      const std::size_t kc = tap % size, kr = tap / size % size, channel = tap / size / size;
      const std::size_t row = r * k.window.stride + kr, column = s * k.window.stride + kc;
      if (row < k.window.padding || row >= h + k.window.padding) continue;
      if (column < k.window.padding || column >= wide + k.window.padding) continue;
      const std::size_t from =
          ((n * c + channel) * h + row - k.window.padding) * wide + column - k.window.padding;
      const std::size_t weight = ((o * c + channel) * size + kr) * size + kc;
      sums.y[i] += x.values[from] * w.values[weight];
      sums.dx[from] += dy.values[i] * w.values[weight];
      sums.dw[weight] += dy.values[i] * x.values[from];
    }
  }
  return sums;
}

TEST_CASE("convolutions and their gradients are the sums over taps") {
  for (const Case& c : cases) {
    CAPTURE(shape_text(c.x));
    const Tensor<float> x = whole<float>(c.x, 4);
    const Tensor<float> w = whole<float>({c.out, c.x[1], c.window.size, c.window.size}, 5);
    Tape<float> tape;
    const Var in = tape.input(x), weight = tape.input(w);
    const Var y = conv2d(tape, in, weight, {}, c.window);
    const Tensor<float> dy = whole<float>(tape.shape(y), 6);
    const Sums expected = by_taps(c, x, w, tape.shape(y), dy);
    CHECK(tape.values(y) == expected.y);
    tape.backward(sum(tape, mul(tape, y, tape.constant(dy))));
    CHECK(tape.gradient(in) == expected.dx);
    CHECK(tape.gradient(weight) == expected.dw);
  }
}

TEST_CASE("each pass of a convolution is one product of its sizes") {
  ProductTally tally;
  const ProductSettings settings{.rules = {}, .tally = &tally};
  Tape<float> tape(settings);
  const Var x = tape.input(drawn<float>({2, 3, 8, 8}, 7));
  const Var w = tape.input(drawn<float>({4, 3, 3, 3}, 8));
  tape.backward(sum(tape, conv2d(tape, x, w, {}, {3, 2, 1})));
  CHECK(tally.products == std::array<std::uint64_t, 3>{1, 1, 1});
  const std::uint64_t pixels = 2 * 4 * 4, depth = 27;
  CHECK(tally.multiply_adds == std::array<std::uint64_t, 3>{pixels * 4 * depth,
                                                            2 * 8 * 8 * 3 * (9 * 4),
                                                            pixels * 4 * depth});
}

TEST_CASE("each gradient of a convolution in binary16 is rounded once") {
  const Case c{{2, 5, 6, 6}, 7, {3, 1, 1}};
  const auto half = [](Tensor<float> x) {
    x.dtype = binary16;
    round_to(binary16, std::span(x.values));
    return x;
  };
  const Tensor<float> x = half(drawn<float>(c.x, 9)), w = half(drawn<float>({7, 5, 3, 3}, 10));
  const Tensor<float> dy = half(drawn<float>({2, 7, 6, 6}, 11));
  const Differentiable<float> f = [&c](Tape<float>& t, const Vars& v) {
    return conv2d(t, v[0], v[1], {}, c.window);
  };
  const auto widened = [](Tensor<float> t) {
    t.dtype = binary32;
    return t;
  };
  const auto got = test::gradients_of<float>(f, {x, w}, dy);
  auto expected = test::gradients_of<float>(f, {widened(x), widened(w)}, widened(dy));
  for (std::size_t i = 0; i < 2; ++i) {
    round_to(binary16, std::span(expected[i]));
    CHECK(got[i] == expected[i]);
  }
}

TEST_CASE("operands that do not fit are refused") {
  Tape<float> tape;
  const Var x = tape.constant(Tensor<float>({1, 2, 4, 4}));
  const auto weight = [&tape](const Shape& shape) { return tape.constant(Tensor<float>(shape)); };
  CHECK_THROWS_AS(conv2d(tape, x, weight({1, 3, 3, 3}), {}, {3, 1, 0}), Error);
  CHECK_THROWS_AS(conv2d(tape, x, weight({1, 2, 3, 3}), {}, {2, 1, 0}), Error);
  CHECK_THROWS_AS(conv2d(tape, x, weight({1, 2, 5, 5}), {}, {5, 1, 0}), Error);
  CHECK_THROWS_AS(conv2d(tape, x, weight({1, 2, 3, 3}), {}, {3, 0, 0}), Error);
}

}  // namespace
}  // namespace binade::ops_conv_test
