// SPDX-License-Identifier: Apache-2.0
//
// Layers of networks: parameters, added to a model with PyTorch's names and first values, and the ops that use them,
// under the layer's name. A layer is all here, so that one more is one place.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/train/model.h"
#include "lib/train/ops.h"

namespace binade {

/// x·Wᵀ + b.
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

/// weight (out, in) and bias (out), uniform in ±1/√in.
template <std::floating_point T>
LinearLayer<T> add_linear(Model<T>& model, const std::string& name, std::size_t in, std::size_t out,
                          std::uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  Parameter<T>& weight = add_uniform(model, name + ".weight", {out, in}, bound, seed);
  Parameter<T>& bias = add_uniform(model, name + ".bias", {out}, bound, seed);
  return {name, &weight, &bias};
}

/// Convolution 3×3 with a padding of 1, batch norm and ReLU. The activation behind the ReLU is watched.
template <std::floating_point T>
struct ConvLayer {
  std::string name;
  bool shrinks;  ///< stride 2, and 2×2 max pool behind
  Parameter<T>*weight, *bias, *gamma, *beta;
  std::shared_ptr<RunningStatistics<T>> running;  ///< shared by copies; changed in training

  /// x (n, in, h, w) → (n, out, h, w); where it shrinks (n, out, h/4, w/4), h and w multiples of 4.
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

/// weight (out, in, 3, 3) and bias (out), uniform in ±1/√(9·in); the norm's weight (out) 1 and bias (out) 0, running
/// means 0 and variances 1.
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

/// weight (width) 1 and bias (width) 0.
template <std::floating_point T>
NormLayer<T> add_norm(Model<T>& model, const std::string& name, std::size_t width) {
  Parameter<T>& weight = add_constant(model, name + ".weight", {width}, T{1}, false);
  Parameter<T>& bias = add_constant(model, name + ".bias", {width}, T{0}, false);
  return {name, &weight, &bias};
}

/// A decoder's block, norms first (GPT-2's order): x + attention(norm(x)), then x + mlp(norm(x)) with GELU. What attention
/// and mlp leave in x is watched, and the hidden activation.
template <std::floating_point T>
struct BlockLayer {
  NormLayer<T> norm1, norm2;
  LinearLayer<T> qkv, out, up, down;
  std::size_t heads;

  /// x (rows, length, width) → the same shape; no position sees a later one.
  Var operator()(Tape<T>& tape, Var x) const {
    x = add(tape, x, attention(tape, norm1(tape, x)));
    tape.watch(out.name, x);
    Var hidden = gelu(tape, up(tape, norm2(tape, x)));
    tape.watch(up.name, hidden);
    x = add(tape, x, down(tape, hidden));
    tape.watch(down.name, x);
    return x;
  }

  /// x (rows, length, width) → the same shape, with all heads side by side in q, k and v.
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

/// norm1, attn.qkv (3·width of width), attn.out, norm2, mlp.up (4·width of width) and mlp.down behind the name, each as its
/// layer begins. The width is a multiple of the heads.
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
