// SPDX-License-Identifier: Apache-2.0
//
// The convolutional network and the transformer of characters.
#include <cmath>

#include "lib/train/layers.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

template <std::floating_point T>
struct ConvLayer {
  std::string name;
  bool first;  ///< stride 2, and 2×2 max pool behind
  Parameter<T>*weight, *bias, *gamma, *beta;
  std::shared_ptr<RunningStatistics<T>> running;

  Var operator()(Tape<T>& tape, Var x, bool training) const {
    const LayerScope scope(name);
    x = conv2d<T>(tape, x, tape.parameter(*weight), tape.parameter(*bias),
                  {.size = 3, .stride = first ? 2U : 1U, .padding = 1});
    x = batch_norm(tape, x, tape.parameter(*gamma), tape.parameter(*beta), *running, training);
    x = relu(tape, x);
    tape.watch(name, x);
    return first ? max_pool2d(tape, x, {.size = 2, .stride = 2, .padding = 0}) : x;
  }
};

template <std::floating_point T>
struct NormLayer {
  std::string name;
  Parameter<T>*weight, *bias;
  Var operator()(Tape<T>& tape, Var x) const {
    const LayerScope scope(name);
    return layer_norm(tape, x, tape.parameter(*weight), tape.parameter(*bias));
  }
};

template <std::floating_point T>
NormLayer<T> add_norm(Model<T>& model, const std::string& name, std::size_t width) {
  Parameter<T>& weight = add_constant(model, name + ".weight", {width}, T{1}, false);
  Parameter<T>& bias = add_constant(model, name + ".bias", {width}, T{0}, false);
  return {name, &weight, &bias};
}

template <std::floating_point T>
struct Block {
  NormLayer<T> norm1, norm2;
  LinearLayer<T> qkv, out, up, down;
  std::size_t heads;

  /// x (rows, t, width), with all heads side by side in q, k and v.
  Var attention(Tape<T>& tape, Var x) const {
    const Shape shape = tape.shape(x);
    const std::size_t rows = shape[0], length = shape[1], width = shape[2];
    const Var all = reshape(tape, qkv(tape, x), {rows, length, 3, heads, width / heads});
    const Var split = reshape(tape, permute(tape, all, {2, 0, 3, 1, 4}),
                              {3, rows * heads, length, width / heads});
    const auto part = [&](std::size_t i) { return select(tape, split, i); };
    const Var q = part(0), k = part(1), v = part(2);
    Var y = scaled_dot_product_attention(tape, q, k, v, true);
    y = permute(tape, reshape(tape, y, {rows, heads, length, width / heads}), {0, 2, 1, 3});
    return out(tape, reshape(tape, y, shape));
  }

  Var operator()(Tape<T>& tape, Var x) const {
    x = add(tape, x, attention(tape, norm1(tape, x)));
    tape.watch(out.name, x);
    Var hidden = gelu(tape, up(tape, norm2(tape, x)));
    tape.watch(up.name, hidden);
    x = add(tape, x, down(tape, hidden));
    tape.watch(down.name, x);
    return x;
  }
};

template <std::floating_point T>
Block<T> add_block(Model<T>& model, const std::string& name, const TransformerShape& s,
                   std::uint64_t seed) {
  NormLayer<T> norm1 = add_norm(model, name + ".norm1", s.width);
  LinearLayer<T> qkv = add_linear(model, name + ".attn.qkv", s.width, 3 * s.width, seed);
  LinearLayer<T> out = add_linear(model, name + ".attn.out", s.width, s.width, seed);
  NormLayer<T> norm2 = add_norm(model, name + ".norm2", s.width);
  LinearLayer<T> up = add_linear(model, name + ".mlp.up", s.width, 4 * s.width, seed);
  LinearLayer<T> down = add_linear(model, name + ".mlp.down", 4 * s.width, s.width, seed);
  return {std::move(norm1), std::move(norm2), std::move(qkv), std::move(out),
          std::move(up),    std::move(down),  s.heads};
}

}  // namespace

template <std::floating_point T>
Model<T> make_cnn(const CnnShape& shape, std::uint64_t seed) {
  Model<T> model;
  std::vector<ConvLayer<T>> layers;
  std::size_t in = shape.in_channels, side = shape.side;
  for (std::size_t i = 0; i < shape.channels.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const std::size_t out = shape.channels[i];
    const double bound = 1 / std::sqrt(static_cast<double>(in * 9));
    ConvLayer<T> layer{"conv" + number, i == 0, nullptr, nullptr, nullptr, nullptr, nullptr};
    layer.weight = &add_uniform(model, layer.name + ".weight", {out, in, 3, 3}, bound, seed);
    layer.bias = &add_uniform(model, layer.name + ".bias", {out}, bound, seed);
    layer.gamma = &add_constant(model, "bn" + number + ".weight", {out}, T{1}, true);
    layer.beta = &add_constant(model, "bn" + number + ".bias", {out}, T{0}, true);
    layer.running = std::make_shared<RunningStatistics<T>>();
    layer.running->mean.assign(out, T{0});
    layer.running->variance.assign(out, T{1});
    layers.push_back(std::move(layer));
    in = out;
    if (i == 0) side /= 4;
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
  // GPT-2's N(0, 0.02) by its uniform twin of the same deviation: 0.02·√3.
  constexpr double bound = 0.034641016151377546;
  Parameter<T>& tokens =
      add_uniform(model, "wte.weight", {shape.vocabulary, shape.width}, bound, seed);
  Parameter<T>& places = add_uniform(model, "wpe.weight", {shape.length, shape.width}, bound, seed);
  std::vector<Block<T>> blocks;
  for (std::size_t i = 0; i < shape.layers; ++i) {
    blocks.push_back(add_block(model, "blocks." + std::to_string(i), shape, seed));
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
    for (const Block<T>& block : blocks) x = block(tape, x);
    x = head(tape, norm(tape, x));
    x = reshape(tape, x, {batch.rows * length, shape.vocabulary});
    tape.watch(head.name, x);
    return x;
  };
  return model;
}

template Model<float> make_cnn(const CnnShape&, std::uint64_t);
template Model<double> make_cnn(const CnnShape&, std::uint64_t);
template Model<float> make_transformer(const TransformerShape&, std::uint64_t);
template Model<double> make_transformer(const TransformerShape&, std::uint64_t);

}  // namespace binade
