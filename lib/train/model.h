// SPDX-License-Identifier: Apache-2.0
//
// The networks: parameters by PyTorch's names, and the function from a batch to logits. Weights begin as
// PyTorch's layers do, drawn from Philox: the same bytes from a seed everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

/// What a network sees: images of (n, c, h, w) or rows of (n, features), or `tokens`, n rows of a length.
template <std::floating_point T>
struct Batch {
  Tensor<T> inputs;
  std::vector<std::int32_t> tokens;
  std::size_t rows = 0;
  std::vector<std::int32_t> targets;  ///< one a row of logits
};

template <std::floating_point T>
struct Model {
  std::vector<std::unique_ptr<Parameter<T>>> parameters;
  /// Logits (rows, classes), or (rows · length, classes) of text. Activations are watched by layer.
  std::function<Var(Tape<T>& tape, const Batch<T>& batch, bool training)> forward;

  std::vector<Parameter<T>*> pointers() const;
  std::size_t parameter_count() const;
};

/// Weights rounded to a dtype; those of batch norms stay where `keep_batch_norm` says so.
template <std::floating_point T>
void cast_model(Model<T>& model, const Format& dtype, bool keep_batch_norm);

enum class Activation : std::uint8_t { relu, tanh };

/// Fully connected: `widths` from the inputs to the classes, layers "fc1", "fc2", ...
struct MlpShape {
  std::vector<std::size_t> widths{64, 128, 128, 10};
  Activation activation = Activation::relu;
};
template <std::floating_point T>
Model<T> make_mlp(const MlpShape& shape, std::uint64_t seed);

/// conv 3×3, batch norm and ReLU per entry of `channels`, the first with stride 2 and a 2×2 max pool, then
/// one linear layer: "conv1", "bn1", ..., "fc". The side is a multiple of 4.
struct CnnShape {
  std::size_t in_channels = 1, side = 28;
  std::vector<std::size_t> channels{16, 32};
  std::size_t classes = 10;
};
template <std::floating_point T>
Model<T> make_cnn(const CnnShape& shape, std::uint64_t seed);

/// Decoder of characters, layer norm first (GPT-2's order): "wte", "wpe", "blocks.0.attn.qkv", ...
struct TransformerShape {
  std::size_t vocabulary = 96, length = 64, width = 64, heads = 4, layers = 2;
};
template <std::floating_point T>
Model<T> make_transformer(const TransformerShape& shape, std::uint64_t seed);

/// A parameter drawn uniformly from [-bound, bound), element i from word i of its stream.
template <std::floating_point T>
Parameter<T>& add_uniform(Model<T>& model, const std::string& name, Shape shape, double bound,
                          std::uint64_t seed);
template <std::floating_point T>
Parameter<T>& add_constant(Model<T>& model, const std::string& name, Shape shape, T value,
                           bool of_batch_norm);

}  // namespace binade
