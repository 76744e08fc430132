// SPDX-License-Identifier: Apache-2.0
//
// Attention: gradients, what a causal mask hides, and its dtype.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lib/amp/autocast.h"
#include "lib/amp/dtype_flow.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/ops.h"
#include "lib/train/tensor_core_products.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_attention_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

constexpr std::array kinds{Attention::flash, Attention::math, Attention::low_precision};

TEST_CASE("gradients of attention are the differences") {
  for (const Attention kind : kinds) {
    for (const bool causal : {false, true}) {
      for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 2}, Shape{2, 2, 4, 1}}) {
        CAPTURE(shape_text(shape));
        check_gradients(
            [causal, kind](Doubles& t, const Vars& v) {
              return scaled_dot_product_attention(t, v[0], v[1], v[2], causal, kind);
            },
            {drawn<double>(shape, 1), drawn<double>(shape, 2), drawn<double>(shape, 3)});
      }
    }
  }
}

TEST_CASE("equal scores give the mean of the values, causal ones of those so far") {
  Tape<double> tape;
  const Var q = tape.constant(Tensor<double>({4, 4}));
  const Var k = tape.constant(drawn<double>({4, 4}, 4));
  const Var v = tape.constant({{4, 1}, binary64, {4, 8, 6, 2}});
  CHECK(tape.values(scaled_dot_product_attention(tape, q, k, v, false)) ==
        std::vector<double>{5, 5, 5, 5});
  const std::vector<double> causal = tape.values(scaled_dot_product_attention(tape, q, k, v, true));
  CHECK(causal[0] == 4);
  CHECK(causal[1] == 6);
  CHECK(causal[3] == 5);
}

TEST_CASE("scores are divided by the root of the width") {
  Tape<double> tape;
  const Var q = tape.constant({{1, 4}, binary64, {2, 0, 0, 0}});
  const Var k = tape.constant({{2, 4}, binary64, {1, 0, 0, 0, 0, 0, 0, 0}});
  const Var v = tape.constant({{2, 1}, binary64, {1, 0}});
  CHECK(tape.values(scaled_dot_product_attention(tape, q, k, v, false))[0] ==
        1 / (1 + std::exp(-1.0)));
}

TEST_CASE("attention stays in the dtype of its inputs, a masked key changes nothing") {
  Tape<float> tape;
  const auto half = [](std::uint64_t seed) {
    Tensor<float> x = drawn<float>({3, 2}, seed);
    x.dtype = binary16;
    round_to(binary16, std::span(x.values));
    return x;
  };
  const Tensor<float> q = half(5), k = half(6), v = half(7);
  Tensor<float> other = v;
  other.values[4] = 1000;
  const Var one = scaled_dot_product_attention(tape, tape.constant(q), tape.constant(k),
                                               tape.constant(v), true);
  const Var two = scaled_dot_product_attention(tape, tape.constant(q), tape.constant(k),
                                               tape.constant(other), true);
  CHECK(tape.dtype(one) == binary16);
  for (std::size_t i = 0; i < 4; ++i) CHECK(tape.values(one)[i] == tape.values(two)[i]);
  CHECK(tape.values(one)[4] != tape.values(two)[4]);
}

TEST_CASE("under autocast the whole runs in the low dtype, its softmax too") {
  std::vector<std::vector<float>> results;
  for (const bool cast : {true, false}) {
    Tape<float> tape;
    std::vector<Var> in;
    for (const std::uint64_t seed : {8U, 9U, 10U}) {
      Tensor<float> x = drawn<float>({5, 8}, seed);
      if (!cast) {
        x.dtype = binary16;
        round_to(binary16, std::span(x.values));
      }
      in.push_back(tape.input(std::move(x)));
    }
    const Autocast autocast(DeviceType::cuda, {.enabled = cast});
    const Var y = scaled_dot_product_attention(tape, in[0], in[1], in[2], true);
    CHECK(tape.dtype(y) == binary16);
    CHECK(autocast_enabled(DeviceType::cuda) == cast);
    results.push_back(tape.values(y));
    tape.backward(sum(tape, mul(tape, y, y)));
    results.push_back(tape.gradient(in[0]));
  }
  CHECK(results[0] == results[2]);
  // In binary32 the softmax would keep what its gradient reads unrounded.
  CHECK(results[1] == results[3]);
}

TEST_CASE("the log of dtypes has attention by its name, with its casts, and then its parts") {
  Tape<float> tape;
  std::vector<Var> in;
  for (const std::uint64_t seed : {8U, 9U, 10U})
    in.push_back(tape.input(drawn<float>({5, 8}, seed)));
  const DtypeFlow flow;
  const LayerScope block("attn");
  const Autocast autocast(DeviceType::cuda);
  scaled_dot_product_attention(tape, in[0], in[1], in[2], true, Attention::low_precision);
  REQUIRE(flow.rows().size() > 1);
  const OpRecord& whole = flow.rows()[0].call;
  CHECK(whole.op == "scaled_dot_product_attention");
  CHECK(whole.where == "attn");
  CHECK(whole.policy == CastPolicy::lower_precision_fp);
  CHECK(whole.run == binary16);
  CHECK(whole.elements == 40);
  CHECK(flow.casts() == 3);
  for (std::size_t i = 1; i < flow.rows().size(); ++i) {
    CHECK(flow.rows()[i].call.where == "attn.scaled_dot_product_attention");
    CHECK(flow.rows()[i].call.run == binary16);
  }
}

TEST_CASE("the math path's parts run in binary32, flash is one op in the low dtype") {
  for (const Attention kind : {Attention::math, Attention::flash}) {
    Tape<float> tape;
    std::vector<Var> in;
    for (const std::uint64_t seed : {8U, 9U, 10U})
      in.push_back(tape.input(drawn<float>({5, 8}, seed)));
    const DtypeFlow flow;
    const Autocast autocast(DeviceType::cuda);
    const Var y = scaled_dot_product_attention(tape, in[0], in[1], in[2], true, kind);
    CHECK(tape.dtype(y) == binary16);
    CHECK(flow.rows()[0].call.run == binary16);
    CHECK(flow.rows().size() == (kind == Attention::flash ? 1 : 5));
    for (std::size_t i = 1; i < flow.rows().size(); ++i) {
      CHECK(flow.rows()[i].call.run == binary32);
    }
  }
}

/// Gradients of each kind of attention; inputs and the gradient of the output are binary16 numbers.
std::array<std::vector<std::vector<float>>, 3> steps_of(float range) {
  std::array<std::vector<std::vector<float>>, 3> out;
  for (const Attention kind : kinds) {
    Tape<float> tape;
    std::vector<Var> in;
    for (const std::uint64_t seed : {11U, 12U, 13U, 14U}) {
      Tensor<float> x = drawn<float>({16, 8}, seed, -range, range);
      x.dtype = binary16;
      round_to(binary16, std::span(x.values));
      in.push_back(tape.input(std::move(x)));
    }
    const Var y = scaled_dot_product_attention(tape, in[0], in[1], in[2], true, kind);
    tape.backward(sum(tape, mul(tape, y, in[3])));
    for (std::size_t i = 0; i < 3; ++i) {
      out[static_cast<std::size_t>(kind)].push_back(tape.gradient(in[i]));
    }
  }
  return out;
}

TEST_CASE("gradients of the kinds are near, and on the grid of the inputs") {
  const auto steps = steps_of(1);
  for (const auto& step : steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      double squares = 0, distance = 0;
      for (std::size_t at = 0; at < step[i].size(); ++at) {
        const double wide = steps[1][i][at], other = step[i][at];
        squares += wide * wide;
        distance += (wide - other) * (wide - other);
        std::vector<float> rounded{step[i][at]};
        round_to(binary16, std::span(rounded));
        CHECK(rounded[0] == step[i][at]);
      }
      CHECK(std::sqrt(distance / squares) < 2e-3);
    }
  }
  CHECK(steps[0][0] != steps[1][0]);
  CHECK(steps[0][0] != steps[2][0]);
}

float half(double x) {
  std::vector<float> one{static_cast<float>(x)};
  round_to(binary16, std::span(one));
  return one[0];
}

/// FlashAttention-2's backward written out, sums in binary64: dQ, dK, dV of (n, d) matrices.
std::vector<std::vector<float>> flash_gradients(const std::vector<std::vector<float>>& in,
                                                std::size_t n, std::size_t d) {
  using Matrix = std::vector<std::vector<double>>;
  const auto dot = [d](const std::vector<float>& a, std::size_t i, const std::vector<float>& b,
                       std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < d; ++c) {
      sum += static_cast<double>(a[i * d + c]) * static_cast<double>(b[j * d + c]);
    }
    return sum;
  };
  const std::vector<float>&q = in[0], &k = in[1], &v = in[2], &d_out = in[3];
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  Matrix p(n, std::vector<double>(n)), slopes = p;
  for (std::size_t i = 0; i < n; ++i) {
    double top = -1e300, sum = 0;
    for (std::size_t j = 0; j <= i; ++j) top = std::max(top, dot(q, i, k, j));
    for (std::size_t j = 0; j <= i; ++j) sum += std::exp(scale * (dot(q, i, k, j) - top));
    std::vector<double> out(d);
    for (std::size_t j = 0; j <= i; ++j) {
      const double e = std::exp(scale * (dot(q, i, k, j) - top));
      p[i][j] = e / sum;
      for (std::size_t c = 0; c < d; ++c)
        out[c] += static_cast<double>(half(e)) * static_cast<double>(v[j * d + c]);
    }
    double delta = 0;
    for (std::size_t c = 0; c < d; ++c) {
      delta += static_cast<double>(half(out[c] / sum)) * static_cast<double>(d_out[i * d + c]);
    }
    for (std::size_t j = 0; j <= i; ++j) slopes[i][j] = p[i][j] * (dot(d_out, i, v, j) - delta);
  }
  std::vector<std::vector<float>> gradients(3, std::vector<float>(n * d));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < d; ++c) {
      double dq = 0, dk = 0, dv = 0;
      for (std::size_t j = 0; j < n; ++j) {
        dq += static_cast<double>(half(slopes[i][j])) * static_cast<double>(k[j * d + c]);
        dk += static_cast<double>(half(slopes[j][i])) * static_cast<double>(q[j * d + c]);
        dv += static_cast<double>(half(p[j][i])) * static_cast<double>(d_out[j * d + c]);
      }
      gradients[0][i * d + c] = half(dq * scale);
      gradients[1][i * d + c] = half(dk * scale);
      gradients[2][i * d + c] = half(dv);
    }
  }
  return gradients;
}

TEST_CASE("flash's gradients round where FlashAttention-2's do") {
  constexpr std::size_t n = 16, d = 8;
  std::vector<std::vector<float>> in;
  for (const std::uint64_t seed : {11U, 12U, 13U, 14U}) {
    Tensor<float> x = drawn<float>({n, d}, seed, -1, 1);
    round_to(binary16, std::span(x.values));
    in.push_back(x.values);
  }
  const auto wanted = flash_gradients(in, n, d);
  const auto ours = steps_of(1)[0];
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t different = 0;
    for (std::size_t at = 0; at < n * d; ++at) different += ours[i][at] != wanted[i][at] ? 1 : 0;
    CAPTURE(i);
    CHECK(different <= 2);  // of 128: sums in binary32
  }
}

TEST_CASE("flash adds in binary32 whatever accumulator other products have") {
  const auto output = [](const char* accumulator, Attention kind) {
    const ProductSettings products = tensor_core_products({.accumulator = accumulator});
    Tape<float> tape(products);
    std::vector<Var> in;
    for (const std::uint64_t seed : {11U, 12U, 13U}) {
      Tensor<float> x = drawn<float>({16, 64}, seed, -1, 1);
      x.dtype = binary16;
      round_to(binary16, std::span(x.values));
      in.push_back(tape.input(std::move(x)));
    }
    return tape.values(scaled_dot_product_attention(tape, in[0], in[1], in[2], false, kind));
  };
  CHECK(output("f16", Attention::flash) == output("f32", Attention::flash));
  CHECK(output("f16", Attention::low_precision) != output("f32", Attention::low_precision));
}

TEST_CASE("a row that sees nothing gives 0 and no gradient") {
  Tape<float> tape;
  const float inf = std::numeric_limits<float>::infinity();
  const Var q = tape.input({{2, 1}, binary32, {1, 1}});
  const Var k = tape.input({{2, 1}, binary32, {-inf, -inf}});
  const Var v = tape.input({{2, 1}, binary32, {3, 4}});
  const Var y = scaled_dot_product_attention(tape, q, k, v, false, Attention::flash);
  CHECK(tape.values(y) == std::vector<float>{0, 0});
  tape.backward(sum(tape, y));
  CHECK(tape.gradient(v) == std::vector<float>{0, 0});
}

TEST_CASE("scores beyond binary16 overflow where they are rounded to it, and nowhere else") {
  const auto finite = [](const std::vector<float>& x) {
    return std::ranges::all_of(x, [](float v) { return std::isfinite(v); });
  };
  const auto steps = steps_of(300);
  CHECK(finite(steps[0][2]));
  CHECK(finite(steps[1][2]));
  CHECK_FALSE(finite(steps[2][2]));
}

TEST_CASE("inputs that do not fit are refused") {
  Tape<float> tape;
  const Var a = tape.constant(Tensor<float>({2, 3, 4})), b = tape.constant(Tensor<float>({3, 4}));
  CHECK_THROWS_AS(scaled_dot_product_attention(tape, a, b, a, false), Error);
  const Var narrow = tape.constant(Tensor<float>({2, 3, 2}));
  CHECK_THROWS_AS(scaled_dot_product_attention(tape, a, narrow, a, false), Error);
}

}  // namespace
}  // namespace binade::ops_attention_test
