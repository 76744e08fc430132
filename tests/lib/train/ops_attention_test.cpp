// SPDX-License-Identifier: Apache-2.0
//
// Attention: gradients, what a causal mask hides, and its dtype.
#include <cmath>

#include "lib/amp/autocast.h"
#include "lib/amp/dtype_flow.h"
#include "lib/tensor/error.h"
#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::ops_attention_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

TEST_CASE("gradients of attention are the differences") {
  for (const bool causal : {false, true}) {
    for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 2}, Shape{2, 2, 4, 1}}) {
      CAPTURE(shape_text(shape));
      check_gradients(
          [causal](Doubles& t, const Vars& v) {
            return scaled_dot_product_attention(t, v[0], v[1], v[2], causal);
          },
          {drawn<double>(shape, 1), drawn<double>(shape, 2), drawn<double>(shape, 3)});
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
  scaled_dot_product_attention(tape, in[0], in[1], in[2], true);
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

TEST_CASE("inputs that do not fit are refused") {
  Tape<float> tape;
  const Var a = tape.constant(Tensor<float>({2, 3, 4})), b = tape.constant(Tensor<float>({3, 4}));
  CHECK_THROWS_AS(scaled_dot_product_attention(tape, a, b, a, false), Error);
  const Var narrow = tape.constant(Tensor<float>({2, 3, 2}));
  CHECK_THROWS_AS(scaled_dot_product_attention(tape, a, narrow, a, false), Error);
}

}  // namespace
}  // namespace binade::ops_attention_test
