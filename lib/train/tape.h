// SPDX-License-Identifier: Apache-2.0
//
// The tape: it records a forward pass op by op and runs the backward pass. Autocast or the inputs
// decide an op's dtype; its backward function runs in the same dtype, as in PyTorch.
//
// Every op keeps these rules: `op_inputs` casts its inputs; it computes in T on values that are
// numbers of the op's dtype; `record` and `add_gradient` round its results once, to that dtype.
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

/// A handle to a value on a tape.
struct Var {
  std::size_t index = 0;
  friend constexpr bool operator==(Var, Var) = default;
};

/// A trainable tensor. The gradient has the value's dtype and is empty until a backward pass
/// reaches the parameter.
template <std::floating_point T>
struct Parameter {
  std::string name;  ///< the name that PyTorch would give it: "fc1.weight"
  Tensor<T> value;
  std::vector<T> gradient{};
  bool of_batch_norm = false;  ///< belongs to a batch norm: binary32 under keep_batchnorm_fp32
};

template <std::floating_point T>
class Tape {
 public:
  /// The backward function of an op: computes the gradients of its inputs from `gradient`, that of
  /// its output, and passes each to add_gradient.
  using Backward = std::function<void(Tape&, const std::vector<T>& gradient)>;

  /// `products` says how products are computed; it must outlive the tape.
  explicit Tape(const ProductSettings& products = reference_products) : products_(&products) {}
  explicit Tape(ProductSettings&&) = delete;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Puts a value that needs no gradient on the tape.
  Var constant(Tensor<T> value);
  /// Puts a value that needs a gradient on the tape.
  Var input(Tensor<T> value);
  /// Puts a parameter, which must outlive the tape, on the tape. Later calls return the same Var.
  Var parameter(Parameter<T>& parameter);
  /// Puts the result of an op on the tape; `value` is rounded to `dtype`. If no input needs a
  /// gradient, `backward` is dropped.
  Var record(std::string_view op, const Format& dtype, Shape shape, std::vector<T> value,
             const std::vector<Var>& inputs, Backward backward);
  /// Returns the value cast to `dtype`; x itself if it has that dtype. As in PyTorch's weight
  /// cache, casts of binary32 parameters to autocast's low dtype are reused while the outermost
  /// autocast scope lasts, unless its cache is disabled.
  Var cast(Var x, const Format& dtype);

  const Tensor<T>& value(Var x) const { return nodes_[x.index].value; }
  const Shape& shape(Var x) const { return value(x).shape; }
  const std::vector<T>& values(Var x) const { return value(x).values; }
  const Format& dtype(Var x) const { return value(x).dtype; }
  bool needs_gradient(Var x) const { return nodes_[x.index].needs_gradient; }
  /// Returns the gradient of x; empty if the backward pass did not reach x.
  const std::vector<T>& gradient(Var x) const { return nodes_[x.index].gradient; }

  /// Called by backward functions: rounds `gradient` to the dtype of `x`, adds it to the gradient
  /// of `x`, and rounds the sum. Does nothing if `x` needs no gradient. Throws Error if the sizes
  /// differ.
  void add_gradient(Var x, std::vector<T> gradient);
  /// Runs the backward pass from `loss`, a scalar whose gradient is `seed`, and adds each
  /// parameter's gradient to Parameter::gradient. May be called once per tape. Throws Error unless
  /// `loss` has exactly one element.
  void backward(Var loss, T seed = 1);

  /// Keeps what op_inputs knows of the op whose result is recorded next, for the log of dtypes
  /// (DtypeFlow).
  void announce(OpRecord call) { announced_ = std::move(call); }
  /// Logs the announced op at once, with `elements` of its output: an op that is made of other ops
  /// calls this before it runs them.
  void report_announced(std::size_t elements);
  std::size_t size() const { return nodes_.size(); }

  /// Sets a function that is called with every gradient, rounded to its dtype, before it is added,
  /// and may change it; null: none. It must outlive the backward pass.
  void set_gradient_filter(const std::function<void(std::vector<T>&)>* filter) { filter_ = filter; }

  /// Names an activation, so that a training's hooks find it and its gradient.
  void watch(std::string name, Var x) { watched_.emplace_back(std::move(name), x); }
  const std::vector<std::pair<std::string, Var>>& watched() const { return watched_; }

  const ProductSettings& products() const { return *products_; }

  /// Sets the scaler that gives each layer a factor for the gradient of its input; gradients of
  /// weights are divided by these factors again. Null: none. It must outlive the backward pass.
  void set_layer_scaler(AdaptiveLayerScaler* scaler) { layer_scaler_ = scaler; }
  /// Returns the factor in the gradient of x that the layer scaler put there: the product of the
  /// layers' factors on the way from the loss, or the common scale (common_scale) where several
  /// gradients met; 1 for a parameter in the end.
  T gradient_scale(Var x) const { return nodes_[x.index].gradient_scale; }
  /// Called by the backward function of a layer with weights: returns the gradient of its output
  /// times the layer's factor, rounded to `dtype` (unchanged if there is no layer scaler). From it
  /// the caller computes the gradient of its input; gradients that the caller adds after this call
  /// are taken to carry the factor. `terms` is the number of terms in each sum of the product of
  /// gradient and weights.
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
    std::optional<OpRecord> call{};  ///< the logged call, to be logged again in the backward pass
  };

  Var push(Node node);
  /// Rescales the node's gradient and `more`, which will be added to it, to one common gradient
  /// scale.
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
  T scale_ = 1;  ///< gradient scale of what the running backward function adds
};

/// An op's inputs after casting, and the dtype in which the op runs.
struct OpInputs {
  Format dtype{};
  std::vector<Var> inputs;
  Var operator[](std::size_t i) const { return inputs[i]; }
};

/// Casts the inputs of an op as autocast's lists say. Ops on no list run in the widest of their
/// inputs' dtypes, to which the other inputs are cast (PyTorch's type promotion). The call is
/// reported to the log of dtypes (DtypeFlow), if any. There must be an input. Throws Error as
/// autocast_dtype and promote_types do.
template <std::floating_point T>
OpInputs op_inputs(Tape<T>& tape, std::string_view op, std::vector<Var> inputs);

/// While an object of this class lives, ops of this thread are logged under its name: "blocks.0"
/// inside "model" is "model.blocks.0".
class LayerScope {
 public:
  explicit LayerScope(std::string_view name);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;
  /// Returns the name under which ops of this thread are logged now; empty outside of any scope.
  static const std::string& current();

 private:
  std::size_t outer_;
};

}  // namespace binade
