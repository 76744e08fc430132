// SPDX-License-Identifier: Apache-2.0
//
// Single layers: which parameters each adds, in which order, their initial values, and the shape of
// its output.
#include "lib/train/layers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace binade::layers_test {
namespace {

using Parameters = std::vector<std::pair<std::string, Shape>>;

Parameters parameters_of(const Model<float>& model) {
  Parameters out;
  for (const auto& p : model.parameters) out.emplace_back(p->name, p->value.shape);
  return out;
}

/// Checks, by the largest value, that a tensor is uniform in ±bound.
bool fills(const Parameter<float>& p, float bound) {
  float most = 0;
  for (const float x : p.value.values) most = std::max(most, std::abs(x));
  return most <= bound && most > 0.8F * bound;
}

bool all_are(const Parameter<float>& p, float value) {
  return std::ranges::count(p.value.values, value) == std::ssize(p.value.values);
}

TEST_CASE("a linear layer is uniform within one over the root of its inputs") {
  Model<float> model;
  const LinearLayer<float> layer = add_linear(model, "fc", 16, 12, 1);
  CHECK(parameters_of(model) == Parameters{{"fc.weight", {12, 16}}, {"fc.bias", {12}}});
  CHECK(fills(*layer.weight, 0.25F));
  CHECK(fills(*layer.bias, 0.25F));
  Tape<float> tape;
  CHECK(tape.shape(layer(tape, tape.constant(Tensor<float>({2, 3, 16})))) == Shape{2, 3, 12});
}

TEST_CASE("a convolution has a batch norm's parameters behind its own, and shrinks where asked") {
  for (const bool shrinks : {false, true}) {
    Model<float> model;
    const ConvLayer<float> layer = add_conv(model, "conv1", "bn1", 4, 6, shrinks, 1);
    CHECK(parameters_of(model) == Parameters{{"conv1.weight", {6, 4, 3, 3}},
                                             {"conv1.bias", {6}},
                                             {"bn1.weight", {6}},
                                             {"bn1.bias", {6}}});
    CHECK(fills(*layer.weight, 1 / 6.F));
    CHECK(fills(*layer.bias, 1 / 6.F));
    CHECK(all_are(*layer.gamma, 1));
    CHECK(all_are(*layer.beta, 0));
    CHECK((layer.gamma->of_batch_norm && layer.beta->of_batch_norm));
    CHECK_FALSE((layer.weight->of_batch_norm || layer.bias->of_batch_norm));
    Tape<float> tape;
    const Var x = tape.constant(Tensor<float>({2, 4, 8, 12}));
    CHECK(tape.shape(layer(tape, x, true)) == (shrinks ? Shape{2, 6, 2, 3} : Shape{2, 6, 8, 12}));
    REQUIRE(tape.watched().size() == 1);
    CHECK(tape.watched()[0].first == "conv1");
  }
}

TEST_CASE("a copy of a convolution learns the same running statistics") {
  Model<float> model;
  const ConvLayer<float> layer = add_conv(model, "conv1", "bn1", 1, 2, false, 1), copy = layer;
  CHECK(layer.running->mean == std::vector<float>(2, 0));
  CHECK(layer.running->variance == std::vector<float>(2, 1));
  Tape<float> tape;
  copy(tape, tape.constant(Tensor<float>({1, 1, 2, 2}, binary32, {1, 2, 3, 4})), true);
  CHECK(layer.running->mean != std::vector<float>(2, 0));
}

TEST_CASE("a layer norm begins as the norm alone") {
  Model<float> model;
  const NormLayer<float> layer = add_norm(model, "norm", 4);
  CHECK(parameters_of(model) == Parameters{{"norm.weight", {4}}, {"norm.bias", {4}}});
  CHECK(all_are(*layer.weight, 1));
  CHECK(all_are(*layer.bias, 0));
  Tape<float> tape;
  const Var y =
      layer(tape, tape.constant(Tensor<float>({2, 4}, binary32, {1, 2, 3, 4, 0, 0, 8, 8})));
  CHECK(tape.shape(y) == Shape{2, 4});
  CHECK(tape.values(y)[7] == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE(
    "a block is two norms, attention and a four times wider mlp, and keeps its input's shape") {
  Model<float> model;
  const BlockLayer<float> block = add_block(model, "blocks.0", 8, 2, 1);
  CHECK(parameters_of(model) == Parameters{{"blocks.0.norm1.weight", {8}},
                                           {"blocks.0.norm1.bias", {8}},
                                           {"blocks.0.attn.qkv.weight", {24, 8}},
                                           {"blocks.0.attn.qkv.bias", {24}},
                                           {"blocks.0.attn.out.weight", {8, 8}},
                                           {"blocks.0.attn.out.bias", {8}},
                                           {"blocks.0.norm2.weight", {8}},
                                           {"blocks.0.norm2.bias", {8}},
                                           {"blocks.0.mlp.up.weight", {32, 8}},
                                           {"blocks.0.mlp.up.bias", {32}},
                                           {"blocks.0.mlp.down.weight", {8, 32}},
                                           {"blocks.0.mlp.down.bias", {8}}});
  Tape<float> tape;
  CHECK(tape.shape(block(tape, tape.constant(Tensor<float>({3, 5, 8})))) == Shape{3, 5, 8});
  std::vector<std::string> watched;
  for (const auto& [name, x] : tape.watched()) watched.push_back(name);
  CHECK(watched ==
        std::vector<std::string>{"blocks.0.attn.out", "blocks.0.mlp.up", "blocks.0.mlp.down"});
}

}  // namespace
}  // namespace binade::layers_test
