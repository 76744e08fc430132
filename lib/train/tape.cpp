// SPDX-License-Identifier: Apache-2.0
//
// The tape keeps its nodes in the order of the forward pass; the backward pass visits them from the
// end. Gradients of a value that is used several times are added in its dtype, those of later uses
// first.
#include "lib/train/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lib/amp/autocast.h"
#include "lib/amp/dtype_flow.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {

template <std::floating_point T>
Var Tape<T>::push(Node node) {
  nodes_.push_back(std::move(node));
  return {nodes_.size() - 1};
}

template <std::floating_point T>
Var Tape<T>::constant(Tensor<T> value) {
  return push({.value = std::move(value)});
}

template <std::floating_point T>
Var Tape<T>::input(Tensor<T> value) {
  return push({.value = std::move(value), .needs_gradient = true});
}

template <std::floating_point T>
Var Tape<T>::parameter(Parameter<T>& parameter) {
  const auto found = leaves_.find(&parameter);
  if (found != leaves_.end()) return found->second;
  const Var leaf =
      push({.value = parameter.value, .parameter = &parameter, .needs_gradient = true});
  leaves_.emplace(&parameter, leaf);
  return leaf;
}

template <std::floating_point T>
Var Tape<T>::record(std::string_view op, const Format& dtype, Shape shape, std::vector<T> value,
                    const std::vector<Var>& inputs, Backward backward) {
  Node node{.value = Tensor<T>(std::move(shape), dtype, std::move(value))};
  round_to(dtype, std::span(node.value.values));
  node.needs_gradient =
      std::ranges::any_of(inputs, [this](Var x) { return nodes_[x.index].needs_gradient; });
  if (node.needs_gradient) node.backward = std::move(backward);
  if (announced_ && announced_->op == op) {
    announced_->output = dtype;
    if (node.backward) node.call = announced_;
    report_announced(node.value.size());
  }
  announced_.reset();
  return push(std::move(node));
}

template <std::floating_point T>
void Tape<T>::report_announced(std::size_t elements) {
  if (!announced_) return;
  announced_->elements = elements;
  record_op(*announced_);
  announced_.reset();
}

template <std::floating_point T>
Var Tape<T>::cast(Var x, const Format& dtype) {
  if (this->dtype(x) == dtype) return x;
  const DeviceType device = autocast_device();
  const bool cached = nodes_[x.index].parameter != nullptr && autocast_epoch() != 0 &&
                      autocast_cache_enabled() && autocast_enabled(device) &&
                      this->dtype(x) == binary32 && dtype == autocast_low_dtype(device);
  if (cached && cast_epoch_ != autocast_epoch()) {
    cast_cache_.clear();
    cast_epoch_ = autocast_epoch();
  }
  if (cached) {
    for (const CachedCast& known : cast_cache_) {
      if (known.from == x.index && known.dtype == dtype) return known.to;
    }
  }
  const Var to = record("to", dtype, shape(x), values(x), {x},
                        [x](Tape& tape, const std::vector<T>& g) { tape.add_gradient(x, g); });
  if (cached) cast_cache_.push_back({x.index, dtype, to});
  return to;
}

template <std::floating_point T>
void Tape<T>::add_gradient(Var x, std::vector<T> gradient) {
  Node& node = nodes_[x.index];
  if (!node.needs_gradient) return;
  if (gradient.size() != node.value.size()) {
    throw Error(fmt::format("gradient of {} values for a tensor of shape {}", gradient.size(),
                            shape_text(node.value.shape)));
  }
  round_to(node.value.dtype, std::span(gradient));
  if (filter_ != nullptr && *filter_) (*filter_)(gradient);
  if (node.gradient.empty()) {
    node.gradient = std::move(gradient);
    node.gradient_scale = scale_;
    return;
  }
  if (node.gradient_scale != scale_) bring_together(node, gradient);
  for_pieces(gradient.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) node.gradient[i] += gradient[i];
  });
  round_to(node.value.dtype, std::span(node.gradient));
}

namespace {

template <class T>
float finite_amax(const std::vector<T>& values) {
  float amax = 0;
  for (const T x : values) {
    if (std::isfinite(x)) amax = std::max(amax, static_cast<float>(std::abs(x)));
  }
  return amax;
}

template <class T>
void multiply(std::vector<T>& values, T factor, const Format& dtype) {
  if (factor == 1) return;
  for (T& x : values) x *= factor;
  round_to(dtype, std::span(values));
}

}  // namespace

template <std::floating_point T>
void Tape<T>::bring_together(Node& node, std::vector<T>& more) {
  const auto scale = static_cast<T>(common_scale(
      static_cast<float>(node.gradient_scale), finite_amax(node.gradient),
      static_cast<float>(scale_), finite_amax(more), layer_scaler_->options().largest));
  multiply(node.gradient, scale / node.gradient_scale, node.value.dtype);
  multiply(more, scale / scale_, node.value.dtype);
  node.gradient_scale = scale;
}

template <std::floating_point T>
std::vector<T> Tape<T>::scaled_for_input(const std::string& layer, const Format& dtype,
                                         const std::vector<T>& gradient, Var weights,
                                         std::size_t terms) {
  std::vector<T> out = gradient;
  if constexpr (std::is_same_v<T, float>) {
    if (layer_scaler_ == nullptr) return out;
    const float scale = layer_scaler_->next(layer, gradient, values(weights), terms, scale_);
    multiply(out, scale, dtype);
    scale_ *= scale;
  }
  return out;
}

template <std::floating_point T>
void Tape<T>::backward(Var loss, T seed) {
  if (value(loss).size() != 1) {
    throw Error(
        fmt::format("backward from a tensor of shape {}: gradients are those of a scalar; "
                    "sum it, or take the mean",
                    shape_text(shape(loss))));
  }
  add_gradient(loss, {seed});
  for (std::size_t at = loss.index + 1; at-- > 0;) {
    if (nodes_[at].gradient.empty()) continue;
    if (nodes_[at].backward) {
      const Backward run = std::move(nodes_[at].backward);
      nodes_[at].backward = {};
      if (nodes_[at].call && recording_ops()) {
        OpRecord call = *nodes_[at].call;
        call.backward = true;
        call.inputs = {call.output};
        call.elements = nodes_[at].gradient.size();
        call.casts = call.cached_casts = 0;
        record_op(call);
      }
      scale_ = nodes_[at].gradient_scale;
      run(*this, nodes_[at].gradient);
    }
    if (Parameter<T>* parameter = nodes_[at].parameter; parameter != nullptr) {
      multiply(nodes_[at].gradient, 1 / nodes_[at].gradient_scale, nodes_[at].value.dtype);
      nodes_[at].gradient_scale = 1;
      std::vector<T>& sum = parameter->gradient;
      if (sum.empty()) {
        sum = nodes_[at].gradient;
        continue;
      }
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += nodes_[at].gradient[i];
      round_to(parameter->value.dtype, std::span(sum));
    }
  }
  scale_ = 1;
}

template <std::floating_point T>
OpInputs op_inputs(Tape<T>& tape, std::string_view op, std::vector<Var> inputs) {
  std::vector<Format> dtypes;
  for (const Var x : inputs) dtypes.push_back(tape.dtype(x));
  Format run = dtypes.front();
  if (const auto chosen = autocast_dtype(op, dtypes)) {
    run = *chosen;
  } else {
    for (const Format& dtype : dtypes) run = promote_types(run, dtype);
  }
  std::uint32_t casts = 0, cached = 0;
  for (Var& x : inputs) {
    const std::size_t before = tape.size();
    const Var to = tape.cast(x, run);
    (tape.size() != before ? casts : cached) += to == x ? 0 : 1;
    x = to;
  }
  if (recording_ops()) {
    tape.announce({.op = std::string(op),
                   .where = LayerScope::current(),
                   .policy = autocast_policy(op),
                   .inputs = std::move(dtypes),
                   .run = run,
                   .output = run,
                   .casts = casts,
                   .cached_casts = cached});
  }
  return {run, std::move(inputs)};
}

namespace {
thread_local std::string layer;
}  // namespace

LayerScope::LayerScope(std::string_view name) : outer_(layer.size()) {
  if (!layer.empty()) layer += '.';
  layer += name;
}
LayerScope::~LayerScope() { layer.resize(outer_); }
const std::string& LayerScope::current() { return layer; }

template class Tape<float>;
template class Tape<double>;
template OpInputs op_inputs(Tape<float>&, std::string_view, std::vector<Var>);
template OpInputs op_inputs(Tape<double>&, std::string_view, std::vector<Var>);

}  // namespace binade
