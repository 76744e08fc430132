// SPDX-License-Identifier: Apache-2.0
//
// The optimizers' formulas, one weight at a time; where PyTorch rounds after an op, `round` is called.
#include "lib/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "emulate/philox.h"
#include "emulate/quantize_quickly.h"
#include "emulate/stochastic_quickly.h"
#include "lib/amp/autocast.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

/// One value to the nearest of a format.
template <class T>
struct Nearest;
template <>
struct Nearest<float> {
  QuickQuantizer to;
  bool exact;
  explicit Nearest(const Format& format)
      : to(quick_quantizer(Quantizer{.format = format})), exact(format == binary32) {
    if (!to.known) throw Error("optimizer: weights of a format that binary32 does not hold");
  }
  float operator()(float x) const {
    if (exact) return x;
    return std::bit_cast<float>(
        quantized_quickly(static_cast<std::uint32_t>(bits_of(x)), 0, to).bits);
  }
};
template <>
struct Nearest<double> {
  Format format;
  explicit Nearest(const Format& of) : format(of) {}
  double operator()(double x) const {
    return format == binary64 ? x : value_of<double>(project(exact_of(x), format).bits, format);
  }
};

/// w + change by stochastic rounding, once, with all of a random word. The sum of binary32 numbers is
/// exact in binary64, or off by less than the word can tell.
template <class T>
T stochastic_sum(T w, T change, const Format& format, std::uint32_t random) {
  return static_cast<T>(
      stochastic_quickly(static_cast<double>(w) + static_cast<double>(change), format, random));
}

/// The numbers of a step that all weights share. PyTorch keeps them as Python floats and casts each to
/// the kernel's type.
template <class T>
struct Factors {
  T lr, momentum, weight_decay, decay, beta1, one_minus_beta1, beta2, one_minus_beta2;
  T minus_step_size, root_of_correction, eps;
  bool first_step;

  Factors(const OptimizerOptions& o, std::int64_t step) : first_step(step == 1) {
    const auto in_t = [](double x) { return static_cast<T>(x); };
    const auto n = static_cast<double>(step);
    lr = in_t(o.lr);
    momentum = in_t(o.momentum);
    weight_decay = in_t(o.weight_decay);
    decay = in_t(1 - o.lr * o.weight_decay);
    beta1 = in_t(o.beta1);
    one_minus_beta1 = in_t(1 - o.beta1);
    beta2 = in_t(o.beta2);
    one_minus_beta2 = in_t(1 - o.beta2);
    minus_step_size = in_t(-(o.lr / (1 - std::pow(o.beta1, n))));
    root_of_correction = in_t(std::sqrt(1 - std::pow(o.beta2, n)));
    eps = in_t(o.eps);
  }
};

/// The change that is added to the weight, before the last rounding; updates the state in place.
/// sgd: g += wd·w; buf = momentum·buf + g; change = -lr·(g + momentum·buf or buf).
template <class T>
T sgd_change(const OptimizerOptions& o, const Factors<T>& f, const Nearest<T>& round, T w, T g,
             T* buffer) {
  if (o.weight_decay != 0) g = round(g + f.weight_decay * w);
  if (o.momentum != 0) {
    *buffer = f.first_step ? g : round(round(f.momentum * *buffer) + g);
    g = o.nesterov ? round(g + f.momentum * *buffer) : *buffer;
  }
  return -f.lr * g;
}

/// m = beta1·m + (1-beta1)·g; v = beta2·v + (1-beta2)·g·g; change = -step·m / (√v / √(1-beta2^t) + eps).
template <class T>
T adam_change(const OptimizerOptions& o, const Factors<T>& f, const Nearest<T>& round, T w, T g,
              T* m, T* v) {
  if (o.kind == OptimizerKind::adam && o.weight_decay != 0) g = round(g + f.weight_decay * w);
  *m = round(round(f.beta1 * *m) + f.one_minus_beta1 * g);
  *v = round(round(f.beta2 * *v) + f.one_minus_beta2 * g * g);
  const T denominator = round(round(round(std::sqrt(*v)) / f.root_of_correction) + f.eps);
  return f.minus_step_size * *m / denominator;
}

}  // namespace

template <std::floating_point T>
Optimizer<T>::Optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options)
    : parameters_(std::move(parameters)), options_(options), slots_(parameters_.size()) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor<T>& weight = parameters_[i]->value;
    Slot& slot = slots_[i];
    if (options_.master_weights && weight.dtype != Carrier<T>::format) {
      slot.master = Tensor<T>(weight.shape, Carrier<T>::format, weight.values);
    }
    const bool adam = options_.kind != OptimizerKind::sgd;
    if (adam || options_.momentum != 0) slot.first.resize(weight.size());
    if (adam) slot.second.resize(weight.size());
    if (options_.update == UpdateRule::kahan) slot.compensation.resize(weight.size());
  }
}

template <std::floating_point T>
void Optimizer<T>::zero_grad() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    parameters_[i]->gradient.clear();
    slots_[i].gradient.clear();
  }
}

template <std::floating_point T>
std::vector<typename Optimizer<T>::Gradient> Optimizer<T>::gradients() {
  std::vector<Gradient> out;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Parameter<T>& parameter = *parameters_[i];
    if (slots_[i].master.size() == 0) {
      out.push_back({parameter.value.dtype, parameter.gradient});
      continue;
    }
    slots_[i].gradient = parameter.gradient;
    out.push_back({Carrier<T>::format, slots_[i].gradient});
  }
  return out;
}

template <std::floating_point T>
void Optimizer<T>::step_one(Parameter<T>& parameter, Slot& slot, std::size_t index) {
  const bool has_master = slot.master.size() != 0;
  Tensor<T>& weights = has_master ? slot.master : parameter.value;
  const std::vector<T>& gradient = has_master ? slot.gradient : parameter.gradient;
  slot.change.resize(gradient.size());
  if (gradient.empty()) return;
  const OptimizerOptions& o = options_;
  const Factors<T> factors(o, ++slot.steps);
  const Nearest<T> round(weights.dtype), round_model(parameter.value.dtype);
  const bool stochastic = o.update == UpdateRule::stochastic && !has_master;
  const bool kahan = o.update == UpdateRule::kahan && !has_master;
  // A stream a step and parameter: the word of a weight is its place.
  const std::uint64_t stream = static_cast<std::uint64_t>(steps_) << 20 | index;
  std::mutex adding;
  for_pieces(weights.size(), [&](std::size_t begin, std::size_t end) {
    StepCounts counts;
    for (std::size_t i = begin; i < end; ++i) {
      const T before = weights.values[i];
      T w = before;
      const T compensation_before = kahan ? slot.compensation[i] : T{0};
      if (o.kind == OptimizerKind::adamw && o.weight_decay != 0) w = round(w * factors.decay);
      const T change =
          o.kind == OptimizerKind::sgd
              ? sgd_change(o, factors, round, w, gradient[i],
                           slot.first.empty() ? nullptr : &slot.first[i])
              : adam_change(o, factors, round, w, gradient[i], &slot.first[i], &slot.second[i]);
      if (kahan) {
        const T y = round(round(change) - slot.compensation[i]);
        const T sum = round(w + y);
        slot.compensation[i] = round(round(sum - w) - y);
        w = sum;
      } else if (stochastic) {
        w = stochastic_sum(w, change, weights.dtype, random_word(o.seed, stream, i));
      } else {
        w = round(w + change);
      }
      weights.values[i] = w;
      // What is asked of the weight, AdamW's decay included.
      const bool decays = o.weight_decay != 0 && o.kind == OptimizerKind::adamw;
      const T update = decays ? (before - before * factors.decay) - change : -change;
      slot.change[i] = update;
      const bool asked = update != 0, stayed = asked && w == before;
      const bool compensated = kahan && slot.compensation[i] != compensation_before;
      const bool lost = stayed && !compensated;
      bool not_shown = stayed && compensated;
      if (has_master) {
        const T copy = round_model(w);
        not_shown = asked && !stayed && copy == parameter.value.values[i];
        parameter.value.values[i] = copy;
      }
      counts.weights += 1;
      counts.asked += asked ? 1 : 0;
      counts.lost += lost ? 1 : 0;
      counts.not_shown += not_shown ? 1 : 0;
      counts.below_2_11 += asked && std::abs(before) > 2048 * std::abs(update) ? 1 : 0;
    }
    const std::lock_guard lock(adding);
    counts_ += counts;
  });
}

template <std::floating_point T>
void Optimizer<T>::step() {
  ++steps_;
  counts_ = {};
  for (std::size_t i = 0; i < slots_.size(); ++i) step_one(*parameters_[i], slots_[i], i);
}

template <std::floating_point T>
T clip_grad_norm(const std::vector<typename Optimizer<T>::Gradient>& gradients, double max_norm) {
  const auto norm_of = [](const std::vector<T>& values, const Format& dtype) {
    std::vector<T> squares(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) squares[i] = values[i] * values[i];
    return Nearest<T>(dtype)(std::sqrt(pairwise_sum(squares.data(), squares.size())));
  };
  std::vector<T> norms;
  std::optional<Format> common;
  for (const auto& gradient : gradients) {
    if (gradient.values.empty()) continue;
    norms.push_back(norm_of({gradient.values.begin(), gradient.values.end()}, gradient.dtype));
    common = common ? promote_types(*common, gradient.dtype) : gradient.dtype;
  }
  const Format dtype = common.value_or(Carrier<T>::format);
  const Nearest<T> round(dtype);
  const T norm = norm_of(norms, dtype);
  // A number over a tensor is the tensor's reciprocal times the number.
  const T reciprocal = round(1 / round(norm + static_cast<T>(1e-6)));
  const T factor = std::min(round(reciprocal * static_cast<T>(max_norm)), T{1});
  for (const auto& gradient : gradients) {
    const T own = Nearest<T>(gradient.dtype)(factor);
    for (T& x : gradient.values) x *= own;
    round_to(gradient.dtype, gradient.values);
  }
  return norm;
}

template class Optimizer<float>;
template class Optimizer<double>;
template float clip_grad_norm<float>(const std::vector<Optimizer<float>::Gradient>&, double);
template double clip_grad_norm<double>(const std::vector<Optimizer<double>::Gradient>&, double);

}  // namespace binade
