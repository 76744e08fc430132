// SPDX-License-Identifier: Apache-2.0
//
// The loss scale of a training as its loop uses it: a GradScaler with any policy of
// lib/amp/loss_scaler.h, or one of the three scalers that look at the gradients (log_max,
// histogram, adaptive). For double there is no loss scale: the scale is 1 and no step is skipped. A
// new policy is a row of make_policies() in lib/amp/loss_scaler.cpp.
#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/amp/grad_scaler.h"
#include "lib/amp/histogram_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/opt_level.h"
#include "lib/train/optimizer.h"
#include "lib/train/trainer.h"

namespace binade {

/// Thrown when a policy ends the training: those of DeepSpeed and fairseq do so at their smallest
/// scale, and any policy does with the parameter raise_at_min_scale.
struct ScalerGaveUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the names that a recipe's `scaler` may have: torch, apex, …, none, static:SCALE,
/// log_max, histogram, adaptive.
std::vector<std::string_view> step_scaler_names();

/// Returns the name of the scaler that a recipe uses: its own; without one, its level's if the
/// format needs a loss scale, else "none".
std::string_view scaler_of(const TrainingRecipe& recipe);

/// Returns the parameters of all scalers together; a name means the same in every scaler that has
/// it.
std::span<const ScalerParameter> scaler_parameters();

/// Which of a recipe's settings its scaler reads.
struct ScalerTakes {
  std::vector<std::string_view> parameters;
  bool skip_overflow = false;
};
/// Throws Error, which lists the names, if the recipe names a scaler that does not exist, and as
/// with_parameters does.
ScalerTakes scaler_takes(const TrainingRecipe& recipe);

template <std::floating_point T>
class StepScaler {
 public:
  using Gradients = std::vector<typename Optimizer<T>::Gradient>;

  /// Throws Error if the recipe names a scaler that does not exist, or a parameter of it has a
  /// wrong value.
  StepScaler(const TrainingRecipe& recipe, const OptLevel& level);

  /// Returns the factor by which the loss is to be multiplied.
  double scale() const;
  /// Returns the scaler of single layers that the tape's backward pass needs; null unless the
  /// scaler is adaptive.
  AdaptiveLayerScaler* layer_scaler();
  /// Multiplies the gradients by float(1 / scale), in place, and notes what the scaler needs to
  /// know of them.
  void unscale(const Gradients& gradients);
  /// Calls `optimizer_step` unless the scaler skips this step; returns whether it was called.
  bool step(const Gradients& gradients, const std::function<void()>& optimizer_step);
  /// Ends the iteration: computes the next scale. Throws ScalerGaveUp if the policy ends the
  /// training.
  void update();

 private:
  struct None {};
  struct LogMax {
    LogMaxScaler scaler;
    bool found_inf = false;
    float amax = 0;
  };
  struct Histogram {
    HistogramScaler scaler;
  };
  struct Adaptive {
    AdaptiveLayerScaler scaler;
    bool found_inf = false;
  };
  std::variant<None, GradScaler, LogMax, Histogram, Adaptive> scaler_;
};

}  // namespace binade
