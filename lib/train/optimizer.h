// SPDX-License-Identifier: Apache-2.0
//
// What steps the parameters of a model, by any row of the optimizers: each op is computed in binary32 and rounded to
// the dtype the weights are kept in. Low-precision weights have binary32 master weights or none; what is added to a
// weight without one is rounded to nearest, stochastically (the sum in binary64, once), or with Kahan's compensation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/train/optimizers.h"
#include "lib/train/tape.h"

namespace binade {

/// How the last op of a step, weight + change, is rounded.
enum class UpdateRule : std::uint8_t { nearest, stochastic, kahan };
inline constexpr std::array<std::string_view, 3> update_rule_names{"nearest", "stochastic",
                                                                   "kahan"};

struct OptimizerOptions {
  std::string name = "sgd";  ///< of optimizers()
  double lr = 0.1;
  // Each for those whose rows name it.
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;                  ///< added to the gradient, or decoupled from it
  bool master_weights = true;               ///< of weights narrower than binary32
  UpdateRule update = UpdateRule::nearest;  ///< of weights without a master
  std::uint64_t seed = 0;                   ///< of stochastic rounding
};

/// What the last step did to the weights.
struct StepCounts {
  std::uint64_t weights = 0;
  std::uint64_t asked = 0;  ///< the change is not zero
  /// Asked, and nothing holds it: what is stepped (the master, where there is one) stayed the same, and Kahan's
  /// compensation too.
  std::uint64_t lost = 0;
  /// Asked and taken by the master or the compensation, and the weight of the model stayed the same: the sum of
  /// several will show.
  std::uint64_t not_shown = 0;
  /// asked, and |weight| > 2^11 · |change|: what nearest loses in binary16, whatever the weight is kept in
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

template <std::floating_point T>
class Optimizer {
 public:
  /// The parameters must outlive it; masters are copies of the weights as they are. Error for a name that there is not.
  Optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options);

  void zero_grad();
  /// After backward: the gradients as the optimizer's, in the masters' binary32 where there are masters.
  /// One span a parameter, without data where backward did not reach it; unscale and clip them in place.
  struct Gradient {
    Format dtype;
    std::span<T> values;
  };
  std::vector<Gradient> gradients();
  /// Changes weights by the gradients as `gradients()` left them.
  void step();

  void set_lr(double lr) { options_.lr = lr; }
  const OptimizerOptions& options() const { return options_; }
  /// Of the last step.
  const StepCounts& counts() const { return counts_; }
  /// The change of the last step before rounding, weight - change being the new weight, decay included; by parameter,
  /// empty where backward did not reach it.
  const std::vector<T>& update(std::size_t parameter) const { return slots_[parameter].change; }
  const std::vector<Parameter<T>*>& parameters() const { return parameters_; }

 private:
  struct Slot {
    Tensor<T> master;             ///< empty: the parameter itself is what is stepped
    std::vector<T> gradient;      ///< of the master
    std::vector<T> moments;       ///< those of a weight side by side
    std::vector<T> compensation;  ///< Kahan's
    std::vector<T> change;
    std::int64_t steps = 0;  ///< that changed it: PyTorch's state["step"]
  };
  void step_one(Parameter<T>& parameter, Slot& slot, std::size_t index);

  std::vector<Parameter<T>*> parameters_;
  OptimizerOptions options_;
  const OptimizerRow* row_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;  ///< of all
  StepCounts counts_;
};

/// torch.nn.utils.clip_grad_norm_ over all gradients (L2): factor max_norm / (norm + 1e-6), at most 1, by
/// which they are multiplied; as PyTorch's, norms, their norm, its reciprocal and the factor are rounded to the gradients' dtype.
/// Returns the norm before.
template <std::floating_point T>
T clip_grad_norm(const std::vector<typename Optimizer<T>::Gradient>& gradients, double max_norm);

}  // namespace binade
