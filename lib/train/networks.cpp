// SPDX-License-Identifier: Apache-2.0
//
// The fully connected network, the convolutional network and the transformer that predicts
// characters.
#include "lib/train/layers.h"
#include "lib/train/ops.h"

namespace binade {

template <std::floating_point T>
Model<T> make_mlp(const MlpShape& shape, std::uint64_t seed) {
  Model<T> model;
  std::vector<LinearLayer<T>> layers;
  for (std::size_t i = 1; i < shape.widths.size(); ++i) {
    layers.push_back(
        add_linear(model, "fc" + std::to_string(i), shape.widths[i - 1], shape.widths[i], seed));
  }
  model.forward = [layers, activation = shape.activation](Tape<T>& tape, const Batch<T>& batch,
                                                          bool) {
    Var x = tape.constant(batch.inputs);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool last = i + 1 == layers.size();
      x = layers[i](tape, x);
      if (!last) x = activation == HiddenActivation::relu ? relu(tape, x) : tanh(tape, x);
      tape.watch(layers[i].name, x);
    }
    return x;
  };
  return model;
}

template <std::floating_point T>
Model<T> make_cnn(const CnnShape& shape, std::uint64_t seed) {
  Model<T> model;
  std::vector<ConvLayer<T>> layers;
  std::size_t in = shape.in_channels, side = shape.side;
  for (std::size_t i = 0; i < shape.channels.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const std::size_t out = shape.channels[i];
    const bool shrinks = i == 0;
    layers.push_back(add_conv(model, "conv" + number, "bn" + number, in, out, shrinks, seed));
    in = out;
    if (shrinks) side /= 4;
  }
  const std::size_t features = in * side * side;
  const LinearLayer<T> head = add_linear(model, "fc", features, shape.classes, seed);
  model.forward = [layers, head, features](Tape<T>& tape, const Batch<T>& batch, bool training) {
    Var x = tape.constant(batch.inputs);
    for (const ConvLayer<T>& layer : layers) x = layer(tape, x, training);
    x = head(tape, reshape(tape, x, {batch.rows, features}));
    tape.watch(head.name, x);
    return x;
  };
  return model;
}

template <std::floating_point T>
Model<T> make_transformer(const TransformerShape& shape, std::uint64_t seed) {
  Model<T> model;
  // A uniform distribution with the standard deviation of GPT-2's N(0, 0.02): its bound is 0.02·√3.
  constexpr double bound = 0.034641016151377546;
  Parameter<T>& tokens =
      add_uniform(model, "wte.weight", {shape.vocabulary, shape.width}, bound, seed);
  Parameter<T>& places = add_uniform(model, "wpe.weight", {shape.length, shape.width}, bound, seed);
  std::vector<BlockLayer<T>> blocks;
  for (std::size_t i = 0; i < shape.layers; ++i) {
    blocks.push_back(
        add_block(model, "blocks." + std::to_string(i), shape.width, shape.heads, seed));
  }
  const NormLayer<T> norm = add_norm(model, "norm", shape.width);
  const LinearLayer<T> head = add_linear(model, "head", shape.width, shape.vocabulary, seed);
  model.forward = [&tokens, &places, blocks, norm, head, shape](Tape<T>& tape,
                                                                const Batch<T>& batch, bool) {
    const std::size_t length = batch.tokens.size() / batch.rows;
    std::vector<std::int32_t> at(batch.tokens.size());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int32_t>(i % length);
    Var x = add(tape, embedding(tape, tape.parameter(tokens), batch.tokens),
                embedding(tape, tape.parameter(places), at));
    x = reshape(tape, x, {batch.rows, length, shape.width});
    tape.watch("embedding", x);
    for (const BlockLayer<T>& block : blocks) x = block(tape, x);
    x = head(tape, norm(tape, x));
    x = reshape(tape, x, {batch.rows * length, shape.vocabulary});
    tape.watch(head.name, x);
    return x;
  };
  return model;
}

template Model<float> make_mlp(const MlpShape&, std::uint64_t);
template Model<double> make_mlp(const MlpShape&, std::uint64_t);
template Model<float> make_cnn(const CnnShape&, std::uint64_t);
template Model<double> make_cnn(const CnnShape&, std::uint64_t);
template Model<float> make_transformer(const TransformerShape&, std::uint64_t);
template Model<double> make_transformer(const TransformerShape&, std::uint64_t);

}  // namespace binade
