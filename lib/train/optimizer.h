// SPDX-License-Identifier: Apache-2.0
//
// Updates the parameters of a model by one of the optimizers of optimizers.h (its rows are in
// optimizers.cpp). Each op is computed in T (float, or double in trainings in binary64) and rounded
// to the dtype in which the weights are kept. Weights narrower than T have a master copy in T or
// none; the sum of a weight without a master copy and its change is rounded to nearest,
// stochastically (the sum in binary64, rounded once), or with Kahan's compensation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/train/optimizers.h"
#include "lib/train/tape.h"

namespace binade {

/// How the last op of an update, weight + change, is rounded.
enum class UpdateRule : std::uint8_t { nearest, stochastic, kahan };
inline constexpr std::array<std::string_view, 3> update_rule_names{"nearest", "stochastic",
                                                                   "kahan"};

struct OptimizerOptions {
  std::string name = "sgd";  ///< a name in optimizers()
  double lr = 0.1;
  // Of the options from here to weight_decay an optimizer reads those that its
  // OptimizerRow::options lists.
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;                  ///< added to the gradient, or decoupled from it
  bool master_weights = true;               ///< weights narrower than T get a master copy
  UpdateRule update = UpdateRule::nearest;  ///< for weights without a master copy
  std::uint64_t seed = 0;                   ///< seed of the stochastic rounding
};

/// What one step did to the weights: numbers of weights.
struct StepCounts {
  std::uint64_t weights = 0;  ///< all weights that have a gradient
  std::uint64_t asked = 0;    ///< weights whose change is not zero
  /// Weights whose non-zero change was lost: neither the weight (its master copy, if it has one)
  /// nor Kahan's compensation changed.
  std::uint64_t lost = 0;
  /// Weights of the model that stayed the same although their non-zero change was added to the
  /// master copy or the compensation: after several such steps the sum will change the weight.
  std::uint64_t not_shown = 0;
  /// Weights with a non-zero change and |weight| > 2^11 · |change|: the change is below a binary16
  /// ulp of the weight and may be lost. They are counted whatever format the weight is kept in.
  std::uint64_t below_2_11 = 0;

  StepCounts& operator+=(const StepCounts& more) {
    weights += more.weights;
    asked += more.asked;
    lost += more.lost;
    not_shown += more.not_shown;
    below_2_11 += more.below_2_11;
    return *this;
  }
};

/// T is the type of all numbers here: float, or double in trainings in binary64 (train<double>).
template <std::floating_point T>
class Optimizer {
 public:
  /// The parameters must outlive the optimizer. Master weights begin as copies of the weights.
  /// Throws Error if `options.name` is not an optimizer.
  Optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options);

  void zero_grad();
  /// The gradient of one parameter; `values` is empty if the backward pass did not reach the
  /// parameter.
  struct Gradient {
    Format dtype;
    std::span<T> values;
  };
  /// Returns the gradients after a backward pass, one per parameter; those of parameters with a
  /// master copy are copied to T. The caller unscales and clips them in place.
  std::vector<Gradient> gradients();
  /// Updates the weights by the gradients that `gradients()` returned, as the caller left them.
  void step();

  void set_lr(double lr) { options_.lr = lr; }
  const OptimizerOptions& options() const { return options_; }
  /// Returns the counts of the last step.
  const StepCounts& counts() const { return counts_; }
  /// Returns what the last step subtracted from the weights of a parameter, decay included, before
  /// the difference was rounded; empty if the backward pass did not reach the parameter.
  const std::vector<T>& update(std::size_t parameter) const { return slots_[parameter].change; }
  const std::vector<Parameter<T>*>& parameters() const { return parameters_; }

 private:
  struct Slot {
    Tensor<T> master;             ///< the master copy; empty: the parameter itself is updated
    std::vector<T> gradient;      ///< gradient of the master copy
    std::vector<T> moments;       ///< all moments of a weight stand side by side
    std::vector<T> compensation;  ///< Kahan's
    std::vector<T> change;        ///< what is added; after the step, what was subtracted (update())
    std::int64_t steps = 0;       ///< steps that updated the parameter: PyTorch's state["step"]
  };
  void step_one(Parameter<T>& parameter, Slot& slot, std::size_t index);

  std::vector<Parameter<T>*> parameters_;
  OptimizerOptions options_;
  const OptimizerRow* row_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;  ///< calls of step()
  StepCounts counts_;
};

/// torch.nn.utils.clip_grad_norm_ with the L2 norm over all gradients: multiplies them by max_norm
/// / (norm + 1e-6), at most 1. As in PyTorch, each gradient's norm, the norm of these norms, its
/// reciprocal and the factor are rounded to the gradients' dtype. Returns the norm before clipping.
template <std::floating_point T>
T clip_grad_norm(const std::vector<typename Optimizer<T>::Gradient>& gradients, double max_norm);

}  // namespace binade
