// SPDX-License-Identifier: Apache-2.0
//
// Layers of networks. Each add_… function adds a layer's parameters to a model, with PyTorch's
// names and distribution of initial values; calling the layer it returns runs the layer's ops under
// the layer's name (LayerScope).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/train/model.h"
#include "lib/train/ops.h"

namespace binade {

/// Fully connected layer: x·Wᵀ + b.
template <std::floating_point T>
struct LinearLayer {
  std::string name;
  Parameter<T>*weight, *bias;

  /// x (…, in) → (…, out).
  Var operator()(Tape<T>& tape, Var x) const {
    const LayerScope scope(name);
    return linear<T>(tape, x, tape.parameter(*weight), tape.parameter(*bias));
  }
};

/// Adds weight (out, in) and bias (out), both drawn uniformly from ±1/√in.
template <std::floating_point T>
LinearLayer<T> add_linear(Model<T>& model, const std::string& name, std::size_t in, std::size_t out,
                          std::uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  Parameter<T>& weight = add_uniform(model, name + ".weight", {out, in}, bound, seed);
  Parameter<T>& bias = add_uniform(model, name + ".bias", {out}, bound, seed);
  return {name, &weight, &bias};
}

/// Convolution 3×3 with a padding of 1, then batch norm and ReLU. The tape watches the output of
/// the ReLU.
template <std::floating_point T>
struct ConvLayer {
  std::string name;
  bool shrinks;  ///< the stride is 2, and a 2×2 max pool follows the ReLU
  Parameter<T>*weight, *bias, *gamma, *beta;
  std::shared_ptr<RunningStatistics<T>> running;  ///< shared by copies; training updates it

  /// x (n, in, h, w) → (n, out, h, w), or, if `shrinks`, (n, out, h/4, w/4); h and w must then be
  /// multiples of 4.
  Var operator()(Tape<T>& tape, Var x, bool training) const {
    const LayerScope scope(name);
    x = conv2d<T>(tape, x, tape.parameter(*weight), tape.parameter(*bias),
                  {.size = 3, .stride = shrinks ? 2U : 1U, .padding = 1});
    x = batch_norm(tape, x, tape.parameter(*gamma), tape.parameter(*beta), *running, training);
    x = relu(tape, x);
    tape.watch(name, x);
    return shrinks ? max_pool2d(tape, x, {.size = 2, .stride = 2, .padding = 0}) : x;
  }
};

/// Adds weight (out, in, 3, 3) and bias (out), drawn uniformly from ±1/√(9·in), and the batch
/// norm's weight (out), which begins as 1, and bias (out), which begins as 0. Running means begin
/// as 0, running variances as 1.
template <std::floating_point T>
ConvLayer<T> add_conv(Model<T>& model, const std::string& name, const std::string& norm_name,
                      std::size_t in, std::size_t out, bool shrinks, std::uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(in * 9));
  Parameter<T>& weight = add_uniform(model, name + ".weight", {out, in, 3, 3}, bound, seed);
  Parameter<T>& bias = add_uniform(model, name + ".bias", {out}, bound, seed);
  Parameter<T>& gamma = add_constant(model, norm_name + ".weight", {out}, T{1}, true);
  Parameter<T>& beta = add_constant(model, norm_name + ".bias", {out}, T{0}, true);
  auto running = std::make_shared<RunningStatistics<T>>();
  running->mean.assign(out, T{0});
  running->variance.assign(out, T{1});
  return {name, shrinks, &weight, &bias, &gamma, &beta, std::move(running)};
}

/// Layer norm over the last dimension.
template <std::floating_point T>
struct NormLayer {
  std::string name;
  Parameter<T>*weight, *bias;

  /// x (…, width) → the same shape.
  Var operator()(Tape<T>& tape, Var x) const {
    const LayerScope scope(name);
    return layer_norm(tape, x, tape.parameter(*weight), tape.parameter(*bias));
  }
};

/// Adds weight (width), which begins as 1, and bias (width), which begins as 0.
template <std::floating_point T>
NormLayer<T> add_norm(Model<T>& model, const std::string& name, std::size_t width) {
  Parameter<T>& weight = add_constant(model, name + ".weight", {width}, T{1}, false);
  Parameter<T>& bias = add_constant(model, name + ".bias", {width}, T{0}, false);
  return {name, &weight, &bias};
}

/// One block of a decoder with the norms first (GPT-2's order): x + attention(norm(x)), then x +
/// mlp(norm(x)), where the MLP has a GELU between its two layers. The tape watches x after each of
/// the two sums, and the output of the GELU.
template <std::floating_point T>
struct BlockLayer {
  NormLayer<T> norm1, norm2;
  LinearLayer<T> qkv, out, up, down;
  std::size_t heads;

  /// x (rows, length, width) → the same shape; the attention is causal: no position sees a later
  /// one.
  Var operator()(Tape<T>& tape, Var x) const {
    x = add(tape, x, attention(tape, norm1(tape, x)));
    tape.watch(out.name, x);
    Var hidden = gelu(tape, up(tape, norm2(tape, x)));
    tape.watch(up.name, hidden);
    x = add(tape, x, down(tape, hidden));
    tape.watch(down.name, x);
    return x;
  }

  /// Attention: x (rows, length, width) → the same shape. The layer qkv gives q, k and v of all
  /// heads in one product.
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
};

/// Adds the layers NAME.norm1, NAME.attn.qkv (width → 3·width), NAME.attn.out (width → width),
/// NAME.norm2, NAME.mlp.up (width → 4·width) and NAME.mlp.down (4·width → width), with the initial
/// values of add_norm and add_linear. `width` must be a multiple of `heads`.
template <std::floating_point T>
BlockLayer<T> add_block(Model<T>& model, const std::string& name, std::size_t width,
                        std::size_t heads, std::uint64_t seed) {
  NormLayer<T> norm1 = add_norm(model, name + ".norm1", width);
  LinearLayer<T> qkv = add_linear(model, name + ".attn.qkv", width, 3 * width, seed);
  LinearLayer<T> out = add_linear(model, name + ".attn.out", width, width, seed);
  NormLayer<T> norm2 = add_norm(model, name + ".norm2", width);
  LinearLayer<T> up = add_linear(model, name + ".mlp.up", width, 4 * width, seed);
  LinearLayer<T> down = add_linear(model, name + ".mlp.down", 4 * width, width, seed);
  return {std::move(norm1), std::move(norm2), std::move(qkv), std::move(out),
          std::move(up),    std::move(down),  heads};
}

}  // namespace binade
