// SPDX-License-Identifier: Apache-2.0
//
// The networks: a model is a list of parameters with PyTorch's names, and a function from a batch
// to logits. Initial weights have the distributions of PyTorch's layers, but those of embeddings
// are uniform with GPT-2's standard deviation 0.02; all are drawn from Philox, so that a seed gives
// the same bytes on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

/// The data of one step: either `inputs` or `tokens` is filled, depending on the network.
template <std::floating_point T>
struct Batch {
  Tensor<T> inputs;                   ///< images (n, c, h, w), or rows (n, features)
  std::vector<std::int32_t> tokens;   ///< `rows` texts of one length, one after another
  std::size_t rows = 0;               ///< n
  std::vector<std::int32_t> targets;  ///< the right class of each row of logits
};

template <std::floating_point T>
struct Model {
  std::vector<std::unique_ptr<Parameter<T>>> parameters;
  /// Computes the logits: (rows, classes), or (rows · length, classes) for text. The tape watches
  /// the layers' activations.
  std::function<Var(Tape<T>& tape, const Batch<T>& batch, bool training)> forward;

  std::vector<Parameter<T>*> pointers() const;
  std::size_t parameter_count() const;  ///< number of values of all parameters
};

/// Rounds all parameters to `dtype`; with `keep_batch_norm` those of batch norms stay as they are.
template <std::floating_point T>
void cast_model(Model<T>& model, const Format& dtype, bool keep_batch_norm);

enum class HiddenActivation : std::uint8_t { relu, tanh };

/// Fully connected network. `widths` begins with the number of inputs and ends with the number of
/// classes; its layers are called "fc1", "fc2", ...
struct MlpShape {
  std::vector<std::size_t> widths{64, 128, 128, 10};
  HiddenActivation activation = HiddenActivation::relu;
};
template <std::floating_point T>
Model<T> make_mlp(const MlpShape& shape, std::uint64_t seed);

/// Convolutional network: for each entry of `channels` a 3×3 convolution, batch norm and ReLU, the
/// first with stride 2 and a 2×2 max pool; then one linear layer. The layers are called "conv1",
/// "bn1", ..., "fc".
struct CnnShape {
  std::size_t in_channels = 1, side = 28;  ///< images are side × side; `side` is a multiple of 4
  std::vector<std::size_t> channels{16, 32};
  std::size_t classes = 10;
};
template <std::floating_point T>
Model<T> make_cnn(const CnnShape& shape, std::uint64_t seed);

/// Transformer decoder that predicts the next character, with the layer norm first in each block
/// (GPT-2's order). Its layers are called "wte", "wpe", "blocks.0.attn.qkv", ..., "norm", "head". A
/// text may have `length` characters at most, and `width` must be a multiple of `heads`.
struct TransformerShape {
  std::size_t vocabulary = 96, length = 64, width = 64, heads = 4, layers = 2;
};
template <std::floating_point T>
Model<T> make_transformer(const TransformerShape& shape, std::uint64_t seed);

/// Adds a parameter drawn uniformly from [-bound, bound] and rounded to binary32; element i comes
/// from word i of the parameter's Philox stream.
template <std::floating_point T>
Parameter<T>& add_uniform(Model<T>& model, const std::string& name, Shape shape, double bound,
                          std::uint64_t seed);
/// Adds a parameter all of whose elements are `value`.
template <std::floating_point T>
Parameter<T>& add_constant(Model<T>& model, const std::string& name, Shape shape, T value,
                           bool of_batch_norm);

}  // namespace binade
