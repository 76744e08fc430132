// SPDX-License-Identifier: Apache-2.0
//
// The formulas of the optimizers, which compute what is to be added to one weight. `round` is
// called after each op after which PyTorch rounds.
#include "lib/train/optimizers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/train/nearest.h"
#include "lib/train/optimizer.h"

namespace binade {
namespace {

/// The numbers that all weights of a step share. PyTorch keeps them as Python floats and casts each
/// to the type in which its kernel computes.
template <class T>
struct StepNumbers {
  const OptimizerOptions& options;
  Nearest<T> round;
  bool first;  ///< this is the parameter's first step
  T lr, momentum, weight_decay, beta1, one_minus_beta1, beta2, one_minus_beta2, eps;
  T minus_step_size, root_of_correction;

  explicit StepNumbers(const WeightsStep<T>& step)
      : options(step.options), round(step.dtype), first(step.number == 1) {
    const OptimizerOptions& o = options;
    const auto in_t = [](double x) { return static_cast<T>(x); };
    const auto n = static_cast<double>(step.number);
    lr = in_t(o.lr);
    momentum = in_t(o.momentum);
    weight_decay = in_t(o.weight_decay);
    beta1 = in_t(o.beta1);
    one_minus_beta1 = in_t(1 - o.beta1);
    beta2 = in_t(o.beta2);
    one_minus_beta2 = in_t(1 - o.beta2);
    eps = in_t(o.eps);
    minus_step_size = in_t(-(o.lr / (1 - std::pow(o.beta1, n))));
    root_of_correction = in_t(std::sqrt(1 - std::pow(o.beta2, n)));
  }
};

/// buf = momentum·buf + g; change = -lr·(g + momentum·buf or buf).
template <class T>
T sgd_change(const StepNumbers<T>& s, T g, T* buffer) {
  if (s.options.momentum != 0) {
    *buffer = s.first ? g : s.round(s.round(s.momentum * *buffer) + g);
    g = s.options.nesterov ? s.round(g + s.momentum * *buffer) : *buffer;
  }
  return -s.lr * g;
}

/// m = beta1·m + (1-beta1)·g; v = beta2·v + (1-beta2)·g·g; change = -step·m / (√v / √(1-beta2^t) +
/// eps).
template <class T>
T adam_change(const StepNumbers<T>& s, T g, T* moments) {
  T &m = moments[0], &v = moments[1];
  m = s.round(s.round(s.beta1 * m) + s.one_minus_beta1 * g);
  v = s.round(s.round(s.beta2 * v) + s.one_minus_beta2 * g * g);
  const T denominator = s.round(s.round(s.round(std::sqrt(v)) / s.root_of_correction) + s.eps);
  return s.minus_step_size * m / denominator;
}

/// Computes the change of each weight by `change_of`, which also updates the weight's moments.
template <class T, T (*change_of)(const StepNumbers<T>&, T g, T* moments)>
void step_weights(const WeightsStep<T>& step) {
  const StepNumbers<T> numbers(step);
  const std::size_t moments = step.moments.size() / step.weights.size();
  for (std::size_t i = 0; i < step.weights.size(); ++i) {
    T g = step.gradient[i];
    if (step.decays_gradient) g = numbers.round(g + numbers.weight_decay * step.weights[i]);
    step.change[i] = change_of(numbers, g, step.moments.data() + i * moments);
  }
}

}  // namespace

std::span<const OptimizerRow> optimizers() {
  static const std::vector<OptimizerRow> rows{
      {.name = "sgd",
       .moments = 0,
       .options = {"momentum", "nesterov", "weight_decay"},
       .with_momentum = "momentum",
       .step = {step_weights<float, sgd_change>, step_weights<double, sgd_change>}},
      {.name = "adam",
       .moments = 2,
       .options = {"beta1", "beta2", "eps", "weight_decay"},
       .step = {step_weights<float, adam_change>, step_weights<double, adam_change>}},
      {.name = "adamw",
       .moments = 2,
       .options = {"beta1", "beta2", "eps", "weight_decay"},
       .decoupled_decay = true,
       .step = {step_weights<float, adam_change>, step_weights<double, adam_change>}},
  };
  return rows;
}

bool OptimizerRow::takes(std::string_view option) const {
  return std::ranges::find(options, option) != options.end();
}

std::vector<std::string_view> optimizers_with(std::string_view option) {
  std::vector<std::string_view> names;
  for (const OptimizerRow& row : optimizers()) {
    if (row.takes(option)) names.push_back(row.name);
  }
  return names;
}

int moments_of(const OptimizerRow& row, bool momentum) {
  return row.moments + (momentum && row.takes("momentum") ? 1 : 0);
}

const OptimizerRow& optimizer_row(std::string_view name) {
  const auto rows = optimizers();
  const auto row = std::ranges::find(rows, name, &OptimizerRow::name);
  if (row != rows.end()) return *row;
  const std::vector<std::string_view> names = names_of(rows);
  throw Error("optimizer " + printable(name) + ": there is none" + did_you_mean(name, names) +
              "; there are " + listed(names));
}

}  // namespace binade
