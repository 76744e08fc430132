// SPDX-License-Identifier: Apache-2.0
//
// The tape: what autocast casts and how often, in which dtypes ops and gradients are, and how
// gradients of a value used twice are added.
#include "lib/train/tape.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "lib/amp/autocast.h"
#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "tests/lib/train/draw.h"

namespace binade::tape_test {
namespace {

using Floats = std::vector<float>;
using test::drawn;

Parameter<float> weight_of(const Shape& shape, std::uint64_t seed) {
  Parameter<float> out;
  out.name = "w";
  out.value = drawn<float>(shape, seed);
  return out;
}

/// Returns how often an op was called.
std::map<std::string, std::uint64_t> calls_of(const DtypeFlow& flow) {
  std::map<std::string, std::uint64_t> out;
  for (const FlowRow& row : flow.rows()) out[row.call.op] += row.calls;
  return out;
}

TEST_CASE("under autocast linear gives binary16 and mse_loss binary32, as PyTorch's example says") {
  Parameter<float> weight = weight_of({4, 8}, 1), bias = weight_of({4}, 2);
  Tape<float> tape;
  const Autocast scope(DeviceType::cuda);
  const Var x = tape.constant(drawn<float>({3, 8}, 3));
  const Var output = linear<float>(tape, x, tape.parameter(weight), tape.parameter(bias));
  CHECK(tape.dtype(output) == binary16);
  const Var loss = mse_loss(tape, output, tape.constant(Tensor<float>({3, 4})));
  CHECK(tape.dtype(loss) == binary32);
  // The backward runs in the forward's dtype; the cast's gives binary32 to the weights.
  tape.backward(loss);
  CHECK(tape.gradient(output).size() == 12);
  Floats rounded = tape.gradient(output);
  round_to(binary16, std::span(rounded));
  CHECK(rounded == tape.gradient(output));
  CHECK(weight.gradient.size() == 32);
  CHECK(tape.dtype(tape.parameter(weight)) == binary32);
}

TEST_CASE("in a scope a weight is cast once, however often it is used") {
  Parameter<float> weight = weight_of({8, 8}, 1);
  Tape<float> tape;
  const DtypeFlow flow;
  {
    const Autocast scope(DeviceType::cuda);
    Var x = tape.constant(drawn<float>({2, 8}, 3));
    for (int i = 0; i < 3; ++i) x = linear<float>(tape, x, tape.parameter(weight));
    // x itself, and the weight.
    CHECK(flow.casts() == 2);
    CHECK(flow.cached_casts() == 2);
    // A nested scope does not end the cache.
    { const Autocast inner(DeviceType::cuda); }
    x = linear<float>(tape, x, tape.parameter(weight));
    CHECK(flow.casts() == 2);
    CHECK(flow.cached_casts() == 3);
  }
  CHECK(calls_of(flow) == std::map<std::string, std::uint64_t>{{"linear", 4}});
  // The next outermost scope casts again.
  const Autocast next(DeviceType::cuda);
  const Var x = tape.constant(Tensor<float>({2, 8}, binary16));
  linear<float>(tape, x, tape.parameter(weight));
  CHECK(flow.casts() == 3);
  CHECK(flow.cached_casts() == 3);
}

TEST_CASE("each weight of a forward pass is cast once") {
  Parameter<float> first = weight_of({8, 8}, 1), second = weight_of({8, 8}, 2);
  Tape<float> tape;
  const DtypeFlow flow;
  const Autocast scope(DeviceType::cuda);
  Var x = tape.constant(Tensor<float>({2, 8}, binary16));
  x = linear<float>(tape, x, tape.parameter(first));
  linear<float>(tape, x, tape.parameter(second));
  CHECK(flow.casts() == 2);
  CHECK(flow.cached_casts() == 0);
}

TEST_CASE("nothing is cached outside of a scope, without the cache, or for what is no parameter") {
  Parameter<float> weight = weight_of({8, 8}, 1);
  Tape<float> tape;
  const Var leaf = tape.parameter(weight);
  const Var once = tape.cast(leaf, binary16);
  CHECK_FALSE(tape.cast(leaf, binary16) == once);
  CHECK(tape.cast(leaf, binary32) == leaf);
  {
    const Autocast scope(DeviceType::cuda, {.cache_enabled = false});
    CHECK_FALSE(tape.cast(leaf, binary16) == tape.cast(leaf, binary16));
  }
  const Autocast scope(DeviceType::cuda);
  const Var cached = tape.cast(leaf, binary16);
  CHECK(tape.cast(leaf, binary16) == cached);
  CHECK_FALSE(tape.cast(leaf, bfloat16) == cached);
  Parameter<float> brain;
  brain.value = Tensor<float>({2}, bfloat16);
  const Var low = tape.parameter(brain);
  for (const Format& to : {binary32, binary16}) {
    CHECK_FALSE(tape.cast(low, to) == tape.cast(low, to));
  }
  {
    const Autocast off(DeviceType::cuda, {.enabled = false});
    CHECK_FALSE(tape.cast(leaf, binary16) == cached);
  }
  const Var input = tape.input(drawn<float>({8, 8}, 2));
  CHECK_FALSE(tape.cast(input, binary16) == tape.cast(input, binary16));
}

TEST_CASE("a parameter asked for twice is one leaf") {
  Parameter<float> weight = weight_of({4}, 1);
  Tape<float> tape;
  CHECK(tape.parameter(weight) == tape.parameter(weight));
  CHECK(tape.size() == 1);
}

TEST_CASE("gradients of a value used twice are added") {
  Tape<float> tape;
  const Var x = tape.input({{3}, binary32, {1, 2, 3}});
  const Var square = mul(tape, x, x);
  tape.backward(sum(tape, add(tape, square, x)));
  CHECK(tape.gradient(x) == Floats{3, 5, 7});
}

TEST_CASE("gradients of a value used twice are added in its dtype, and rounded") {
  Tape<float> tape;
  const Var x = tape.input({{1}, binary16, {1}});
  const Var y = add(tape, scale(tape, x, 2048.0F), scale(tape, x, 1.0F));
  tape.backward(y);
  CHECK(tape.gradient(x) == Floats{2048});  // 2049 is a tie between 2048 and 2050
}

TEST_CASE("casts of one weight add their gradients in binary16, then give binary32") {
  Parameter<float> weight;
  weight.value = Tensor<float>({1, 1}, binary32, {1});
  const auto gradient = [&weight](bool cached) {
    weight.gradient.clear();
    Tape<float> tape;
    const Autocast scope(DeviceType::cuda, {.cache_enabled = cached});
    const Var big = tape.constant({{1, 1}, binary16, {2048}});
    const Var one = tape.constant({{1, 1}, binary16, {1}});
    const Var w = tape.parameter(weight);
    const Var y = linear<float>(tape, big, w);
    tape.backward(sum(tape, add(tape, y, linear<float>(tape, one, w))));
    return weight.gradient;
  };
  CHECK(gradient(true) == Floats{2048});   // one cast, whose gradient is binary16's
  CHECK(gradient(false) == Floats{2049});  // two, added in binary32
}

TEST_CASE("a parameter's gradient grows from tape to tape") {
  Parameter<float> weight;
  weight.value = Tensor<float>({2}, binary32, {1, 2});
  for (int i = 1; i <= 3; ++i) {
    Tape<float> tape;
    tape.backward(sum(tape, scale(tape, tape.parameter(weight), 0.5F)));
    CHECK(weight.gradient == Floats(2, 0.5F * static_cast<float>(i)));
  }
}

TEST_CASE("what needs no gradient gets none") {
  Parameter<float> unused = weight_of({2}, 1);
  Tape<float> tape;
  const Var constant = tape.constant({{2}, binary32, {1, 2}});
  const Var x = tape.input({{2}, binary32, {3, 4}});
  static_cast<void>(tape.parameter(unused));
  tape.backward(sum(tape, mul(tape, constant, x)));
  CHECK(tape.gradient(constant).empty());
  CHECK_FALSE(tape.needs_gradient(constant));
  CHECK(tape.gradient(x) == Floats{1, 2});
  CHECK(unused.gradient.empty());
}

TEST_CASE("the seed of backward is the gradient of the scalar, on its grid") {
  Tape<float> tape;
  const Var x = tape.input({{1}, binary16, {1}});
  tape.backward(scale(tape, x, 1.0F), 65536.0F);
  CHECK(tape.gradient(x) == Floats{std::numeric_limits<float>::infinity()});
}

TEST_CASE("backward is from scalars") {
  Tape<float> tape;
  CHECK_THROWS_AS(tape.backward(tape.input(Tensor<float>({2}))), Error);
  const Var x = tape.input(Tensor<float>({2}));
  CHECK_THROWS_AS(tape.add_gradient(x, {1}), Error);
}

TEST_CASE("a filter sees each gradient rounded and may change it") {
  Tape<float> tape;
  const std::function<void(std::vector<float>&)> doubled = [](std::vector<float>& g) {
    for (float& x : g) x *= 2;
  };
  tape.set_gradient_filter(&doubled);
  const Var x = tape.input({{1}, binary32, {1}});
  tape.backward(scale(tape, x, 3.0F));
  CHECK(tape.gradient(x) == Floats{12});  // the seed, too
}

TEST_CASE("unlisted ops run in the widest of their inputs' dtypes, and the audit tells") {
  Tape<float> tape;
  const DtypeFlow flow;
  const Autocast scope(DeviceType::cuda);
  const Var half = tape.constant({{1}, binary16, {1}});
  const Var single = tape.constant({{1}, binary32, {0x1p-20F}});
  const Var y = add(tape, half, single);
  CHECK(tape.dtype(y) == binary32);
  CHECK(tape.values(y)[0] == 1 + 0x1p-20F);
  CHECK(flow.promotion_audit().size() == 1);
  CHECK(flow.promotion_audit()[0].op == "add");
}

TEST_CASE("the log has each op's backward, in the forward's dtype") {
  Parameter<float> weight = weight_of({4, 8}, 1);
  Tape<float> tape;
  const DtypeFlow flow;
  const Autocast scope(DeviceType::cuda);
  const Var x = tape.constant(drawn<float>({3, 8}, 3));
  const Var y = linear<float>(tape, x, tape.parameter(weight));
  const Var loss = mse_loss(tape, y, tape.constant(Tensor<float>({3, 4})));
  const std::size_t forward = flow.rows().size();
  const std::uint64_t casts = flow.casts();
  tape.backward(loss);
  REQUIRE(flow.rows().size() == forward + 2);
  const OpRecord& of_loss = flow.rows()[forward].call;
  const OpRecord& of_linear = flow.rows()[forward + 1].call;
  CHECK(of_loss.op == "mse_loss");
  CHECK(of_loss.run == binary32);
  CHECK(of_linear.op == "linear");
  CHECK(of_linear.run == binary16);
  CHECK(of_linear.inputs == std::vector<Format>{binary16});
  CHECK(of_linear.elements == 12);
  for (std::size_t i = 0; i < flow.rows().size(); ++i) {
    CHECK(flow.rows()[i].call.backward == (i >= forward));
  }
  CHECK(flow.casts() == casts);
}

TEST_CASE("names of layers nest") {
  CHECK(LayerScope::current().empty());
  {
    const LayerScope model("model");
    const LayerScope block("blocks.0");
    CHECK(LayerScope::current() == "model.blocks.0");
  }
  CHECK(LayerScope::current().empty());
}

/// A residual block: x → a → a + fc2(a) → fc3 → sum of squares, in binary32.
struct Residual {
  std::array<Parameter<float>, 3> weights;
  Residual() {
    for (std::size_t i = 0; i < 3; ++i) {
      weights[i].name = "fc" + std::to_string(i + 1);
      weights[i].value = test::drawn<float>({4, 4}, i + 1, -1, 1);
    }
  }
  /// Returns the gradients of the weights, with a scaler for each layer if one is given.
  std::vector<std::vector<float>> step(AdaptiveLayerScaler* scaler, double factor) {
    Tape<float> tape;
    tape.set_layer_scaler(scaler);
    const auto fc = [&](std::size_t i, Var x) {
      const LayerScope scope(weights[i].name);
      return linear(tape, x, tape.parameter(weights[i]));
    };
    const Var x = tape.input(test::drawn<float>({3, 4}, 9, -1, 1));
    const Var a = fc(0, x);
    const Var b = fc(2, add(tape, a, fc(1, a)));
    const Var loss = scale(tape, sum(tape, mul(tape, b, b)), static_cast<float>(factor));
    std::vector<std::vector<float>> out;
    for (Parameter<float>& w : weights) w.gradient.clear();
    tape.backward(loss);
    for (const Parameter<float>& w : weights) out.push_back(w.gradient);
    input_scale = tape.gradient_scale(x);
    out.push_back(tape.gradient(x));
    for (float& g : out.back()) g /= input_scale;
    return out;
  }
  float input_scale = 1;
};

TEST_CASE("layers scale gradients on their way, weights and merged branches are as without") {
  Residual net;
  const double tiny = 0x1p-40;  // gradients want scales, and binary32 has room for all of them
  const auto plain = net.step(nullptr, tiny);
  CHECK(net.input_scale == 1);
  AdaptiveLayerScaler scaler({.largest = 1e30, .product_cap = 1 << 20});
  CHECK(net.step(&scaler, tiny) == plain);  // powers of two: every bit
  CHECK(net.input_scale == 16 * 16 * 16);   // the branch through fc2 is the larger
  const std::vector<LayerScale> scales = scaler.scales();
  REQUIRE(scales.size() == 3);
  CHECK(scales[0].layer == "fc3");
  CHECK(scales[0].product == 16);
  CHECK(scales[1].product == 256);
  CHECK(scales[2].product == 4096);
  // Where the larger scale would overflow the branches meet at the smaller one.
  AdaptiveLayerScaler narrow({.largest = 0x1p-33, .layer_cap = 16});
  CHECK(net.step(&narrow, tiny) == plain);
}

TEST_CASE("a layer scaler whose caps are 1 changes nothing") {
  Residual net;
  AdaptiveLayerScaler scaler({.layer_cap = 1, .product_cap = 1});
  CHECK(net.step(&scaler, 1) == net.step(nullptr, 1));
  CHECK(net.input_scale == 1);
}

}  // namespace
}  // namespace binade::tape_test
