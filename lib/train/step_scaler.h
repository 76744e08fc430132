// SPDX-License-Identifier: Apache-2.0
//
// The loss scale of a training as the loop sees it: a GradScaler over any row of the policies, or one of
// the three that look at the gradients. For double there is none: scale 1, every step taken.
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

/// A policy that raises instead of scaling on: DeepSpeed and fairseq at their floors.
struct ScalerGaveUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a recipe's `scaler` may be: torch, apex, …, none, static:SCALE, log_max, histogram, adaptive.
std::vector<std::string_view> step_scaler_names();

/// The scaler that a recipe comes to: its own, its level's, or none.
std::string_view scaler_of(const TrainingRecipe& recipe);

/// What scalers can be set by, all of them together; a name means one thing in all that have it.
std::span<const ScalerParameter> scaler_parameters();

/// Which of a recipe's settings its scaler, or its level's where it names none, looks at.
struct ScalerTakes {
  std::vector<std::string_view> parameters;
  bool skip_overflow = false;
};
/// Error with the names for a scaler that there is not.
ScalerTakes scaler_takes(const TrainingRecipe& recipe);

template <std::floating_point T>
class StepScaler {
 public:
  using Gradients = std::vector<typename Optimizer<T>::Gradient>;

  /// Error for a policy that there is not.
  StepScaler(const TrainingRecipe& recipe, const OptLevel& level);

  /// What the loss is multiplied by.
  double scale() const;
  /// The scaler of layers for the tape's backward; null for others.
  AdaptiveLayerScaler* layer_scaler();
  void unscale(const Gradients& gradients);
  /// Whether `optimizer_step` was called.
  bool step(const Gradients& gradients, const std::function<void()>& optimizer_step);
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
