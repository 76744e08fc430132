// SPDX-License-Identifier: Apache-2.0
//
// Networks: PyTorch's names and shapes, the weights' initial values, and the results of a forward
// pass.
#include "lib/train/model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace binade::model_test {
namespace {

template <std::floating_point T>
std::map<std::string, Shape> shapes_of(const Model<T>& model) {
  std::map<std::string, Shape> out;
  for (const auto& p : model.parameters) out[p->name] = p->value.shape;
  return out;
}

TEST_CASE("a fully connected network has PyTorch's names, shapes and counts") {
  const Model<float> model = make_mlp<float>({.widths = {8, 16, 4}}, 1);
  CHECK(shapes_of(model) == std::map<std::string, Shape>{{"fc1.weight", {16, 8}},
                                                         {"fc1.bias", {16}},
                                                         {"fc2.weight", {4, 16}},
                                                         {"fc2.bias", {4}}});
  CHECK(model.parameter_count() == 212);
  CHECK(model.pointers().size() == 4);
}

TEST_CASE(
    "weights begin uniform within one over the root of the inputs, for either carrier the same") {
  const Model<float> model = make_mlp<float>({.widths = {64, 100, 4}}, 1);
  const Model<double> twin = make_mlp<double>({.widths = {64, 100, 4}}, 1);
  const auto& w = model.parameters[0]->value.values;
  float most = 0;
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    most = std::max(most, std::abs(w[i]));
    sum += static_cast<double>(w[i]);
    CHECK(twin.parameters[0]->value.values[i] == static_cast<double>(w[i]));
  }
  CHECK(most <= 0.125F);
  CHECK(most > 0.124F);
  // Five deviations of the mean of 6400 numbers uniform in ±1/8.
  CHECK(std::abs(sum / 6400) < 5 * 0.125 / std::sqrt(3.0 * 6400));
  CHECK(make_mlp<float>({.widths = {64, 100, 4}}, 2).parameters[0]->value.values != w);
}

TEST_CASE("a model that is cast lies on the grid, with its norms where they are kept") {
  for (const bool keep : {false, true}) {
    Model<float> model = make_cnn<float>({.side = 4, .channels = {4, 4}, .classes = 4}, 1);
    const std::vector<float> before = model.parameters[0]->value.values;
    cast_model(model, bfloat16, keep);
    std::size_t norms = 0;
    for (const auto& p : model.parameters) {
      norms += p->of_batch_norm ? 1 : 0;
      CHECK(p->of_batch_norm == p->name.starts_with("bn"));
      CHECK(p->value.dtype == (keep && p->of_batch_norm ? binary32 : bfloat16));
    }
    CHECK(norms == 4);
    CHECK(model.parameters[0]->value.values != before);
    std::vector<float> rounded = model.parameters[0]->value.values;
    round_to(bfloat16, std::span(rounded));
    CHECK(model.parameters[0]->value.values == rounded);
  }
}

TEST_CASE("the transformer is GPT-2's: no position sees a later one") {
  const Model<float> model = make_transformer<float>(
      {.vocabulary = 11, .length = 8, .width = 16, .heads = 2, .layers = 2}, 3);
  CHECK(shapes_of(model).at("blocks.1.attn.qkv.weight") == Shape{48, 16});
  CHECK(shapes_of(model).at("head.weight") == Shape{11, 16});
  Batch<float> batch{.inputs = {}, .tokens = {1, 2, 3, 4, 5, 6, 7, 8}, .rows = 1, .targets = {}};
  const auto logits = [&] {
    Tape<float> tape;
    const Var out = model.forward(tape, batch, true);
    CHECK(tape.shape(out) == Shape{8, 11});
    return tape.values(out);
  };
  const std::vector<float> before = logits();
  batch.tokens[5] = 0;
  const std::vector<float> after = logits();
  const auto sixth = 5 * 11;
  CHECK(std::equal(before.begin(), before.begin() + sixth, after.begin()));
  CHECK_FALSE(std::equal(before.begin() + sixth, before.end(), after.begin() + sixth));
}

TEST_CASE("activations are watched by layer") {
  const Model<float> model = make_mlp<float>({.widths = {8, 16, 4}}, 1);
  Tape<float> tape;
  model.forward(tape, {.inputs = Tensor<float>({2, 8}), .tokens = {}, .rows = 2, .targets = {0, 1}},
                true);
  REQUIRE(tape.watched().size() == 2);
  CHECK(tape.watched()[0].first == "fc1");
  CHECK(tape.shape(tape.watched()[0].second) == Shape{2, 16});
  CHECK(tape.watched()[1].first == "fc2");
  for (const float x : tape.values(tape.watched()[0].second)) CHECK(x >= 0);  // behind the ReLU
}

}  // namespace
}  // namespace binade::model_test
