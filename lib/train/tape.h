// SPDX-License-Identifier: Apache-2.0
//
// The tape: what a forward pass computed, op by op, and the way back. An op's dtype is what autocast or
// its inputs made it; its backward runs in the same dtype, as PyTorch's does.
//
// Rules every op keeps: inputs are cast by `op_inputs`; kernels compute in T and read values on the grid
// of the op's dtype; what they give is rounded once, to the op's dtype, by `record` and `add_gradient`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/amp/dtype_flow.h"
#include "lib/amp/layer_scaler.h"
#include "lib/train/product.h"
#include "lib/train/tensor.h"

namespace binade {

/// A value on a tape.
struct Var {
  std::size_t index = 0;
  friend constexpr bool operator==(Var, Var) = default;
};

/// What an optimizer changes. The gradient has the value's dtype and is empty until a backward pass
/// reaches the parameter.
template <std::floating_point T>
struct Parameter {
  std::string name;  ///< PyTorch's: "fc1.weight"
  Tensor<T> value;
  std::vector<T> gradient{};
  bool of_batch_norm = false;  ///< stays binary32 under keep_batchnorm_fp32
};

template <std::floating_point T>
class Tape {
 public:
  /// Gradients with respect to the inputs, from that of the output: calls add_gradient.
  using Backward = std::function<void(Tape&, const std::vector<T>& gradient)>;

  /// How products are computed; kept for the tape's life.
  explicit Tape(const ProductSettings& products = reference_products) : products_(&products) {}
  explicit Tape(ProductSettings&&) = delete;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A value without a gradient.
  Var constant(Tensor<T> value);
  /// A value whose gradient is asked for.
  Var input(Tensor<T> value);
  /// The leaf of a parameter, which must outlive the tape; asked twice it is the same leaf.
  Var parameter(Parameter<T>& parameter);
  /// The result of an op: `value` is rounded to `dtype`. Without an input that needs a gradient
  /// `backward` is dropped.
  Var record(std::string_view op, const Format& dtype, Shape shape, std::vector<T> value,
             const std::vector<Var>& inputs, Backward backward);
  /// The value in another dtype, or the same Var. As in PyTorch's weight cache, casts of binary32
  /// parameters to autocast's low dtype are kept while its outermost scope lasts.
  Var cast(Var x, const Format& dtype);

  const Tensor<T>& value(Var x) const { return nodes_[x.index].value; }
  const Shape& shape(Var x) const { return value(x).shape; }
  const std::vector<T>& values(Var x) const { return value(x).values; }
  const Format& dtype(Var x) const { return value(x).dtype; }
  bool needs_gradient(Var x) const { return nodes_[x.index].needs_gradient; }
  /// Empty where backward did not come by.
  const std::vector<T>& gradient(Var x) const { return nodes_[x.index].gradient; }

  /// In backward functions: rounds to the dtype of `x` and adds in it. Does nothing where no gradient
  /// is needed.
  void add_gradient(Var x, std::vector<T> gradient);
  /// From a scalar, whose gradient is `seed`, to every parameter's `gradient` (which is added to).
  /// Once per tape.
  void backward(Var loss, T seed = 1);

  /// What op_inputs knows of the op whose result is recorded next, for the log of dtypes.
  void announce(OpRecord call) { announced_ = std::move(call); }
  /// For an op that is made of others: what was announced goes to the log before its parts do.
  void report_announced(std::size_t elements);
  std::size_t size() const { return nodes_.size(); }

  /// Called with every gradient that is added, before it is added: for experiments that change them.
  void set_gradient_filter(const std::function<void(std::vector<T>&)>* filter) { filter_ = filter; }

  /// Remembers an activation for the hooks: its value, and after backward its gradient.
  void watch(std::string name, Var x) { watched_.emplace_back(std::move(name), x); }
  const std::vector<std::pair<std::string, Var>>& watched() const { return watched_; }

  const ProductSettings& products() const { return *products_; }

  /// Layers scale the gradients that pass them, as it says; weights get theirs without these scales. It must
  /// outlive the tape's backward.
  void set_layer_scaler(AdaptiveLayerScaler* scaler) { layer_scaler_ = scaler; }
  /// By what layers have multiplied this value's gradient.
  T gradient_scale(Var x) const { return nodes_[x.index].gradient_scale; }
  /// In the backward function of a layer with weights: the gradient as it goes on to the layer's input, where a layer
  /// scaler is set times its scale, rounded to `dtype`. What is added to inputs from here on carries the scale.
  /// `terms` is the length of the sums of gradient and weights.
  std::vector<T> scaled_for_input(const std::string& layer, const Format& dtype,
                                  const std::vector<T>& gradient, Var weights, std::size_t terms);

 private:
  struct Node {
    Tensor<T> value;
    std::vector<T> gradient{};
    T gradient_scale = 1;
    Backward backward{};
    Parameter<T>* parameter = nullptr;
    bool needs_gradient = false;
    std::optional<OpRecord> call{};  ///< what the log was told of it, for its backward
  };

  Var push(Node node);
  /// Scales the node's gradient and the one that is to be added to it until both carry one scale.
  void bring_together(Node& node, std::vector<T>& more);

  const ProductSettings* products_;
  std::vector<Node> nodes_;
  std::map<const Parameter<T>*, Var> leaves_;
  std::vector<std::pair<std::string, Var>> watched_;

  struct CachedCast {
    std::size_t from;
    Format dtype;
    Var to;
  };
  std::vector<CachedCast> cast_cache_;
  std::uint64_t cast_epoch_ = 0;
  std::optional<OpRecord> announced_;
  const std::function<void(std::vector<T>&)>* filter_ = nullptr;
  AdaptiveLayerScaler* layer_scaler_ = nullptr;
  T scale_ = 1;  ///< of the gradients that the running backward function adds
};

/// An op's inputs as it takes them, and the dtype it runs in.
struct OpInputs {
  Format dtype{};
  std::vector<Var> inputs;
  Var operator[](std::size_t i) const { return inputs[i]; }
};

/// Casts as autocast's lists say; unlisted ops run in the widest of their inputs' dtypes, to which the
/// others are cast (PyTorch's type promotion). The log of dtypes, where one is kept, learns of it.
template <std::floating_point T>
OpInputs op_inputs(Tape<T>& tape, std::string_view op, std::vector<Var> inputs);

/// The name of the layer that runs, for the log of dtypes, while it lives: "blocks.0" inside "model"
/// is "model.blocks.0".
class LayerScope {
 public:
  explicit LayerScope(std::string_view name);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;
  static const std::string& current();

 private:
  std::size_t outer_;
};

}  // namespace binade
