// SPDX-License-Identifier: Apache-2.0
//
// One training: a recipe (what is computed in which format), a workload (a network and its data),
// and a loop with the steps that a PyTorch user writes: scale, backward, unscale_, clip, step,
// update.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/amp/autoswitch.h"
#include "lib/amp/grad_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/policy_parameters.h"
#include "lib/train/model.h"
#include "lib/train/optimizer.h"
#include "lib/train/tensor_core_products.h"

namespace binade {

struct TrainingRecipe {
  std::string level = "native";  ///< a name in opt_levels: O0, O1, O2, O3, native, half
  ProductChoice products{};
  /// A name in loss_scale_policies(), "static:SCALE", "log_max", "histogram" or "adaptive"; empty:
  /// the level's scaler if the format's gradients need one (TrainingFormat::scaled), else none.
  std::string scaler{};
  ScalerParameters
      scaler_parameters{};  ///< by names of scaler_parameters(); others keep their defaults
  std::optional<AutoswitchOptions> autoswitch{};  ///< FP8 products that lose too much run in BF16
  bool skip_overflow = false;  ///< a static loss scale skips steps that overflowed
  /// The backward pass sees the loss times 2^-loss_shift, and the gradients are multiplied by
  /// 2^loss_shift in binary32 before the step: this imitates a network with smaller gradients and
  /// changes nothing else.
  int loss_shift = 0;
  OptimizerOptions optimizer{};          ///< its member master_weights is overwritten
  std::optional<bool> master_weights{};  ///< as the level says, unless given
  double clip_norm = 0;                  ///< largest norm of the gradients; 0: no clipping
  std::int64_t steps = 440;
  std::uint64_t seed = 0;
};

/// A network and its data. What the functions return depends on their arguments alone.
template <std::floating_point T>
struct Workload {
  std::function<Model<T>(std::uint64_t seed)> make;
  std::function<Batch<T>(std::uint64_t seed, std::int64_t step)> train_batch;
  std::size_t test_batches = 0;
  std::function<Batch<T>(std::size_t i)> test_batch;
};

struct StepLog {
  double loss = 0;
  double scale = 1;      ///< the loss scale of the step
  bool skipped = false;  ///< the weights were not updated
  StepCounts updates{};
};

struct TrainingLog {
  std::vector<StepLog> steps;
  double test_loss = 0;
  /// Share of rows whose largest logit is the target's. A row with a NaN, or whose largest logit is
  /// infinite, counts as wrong.
  double test_accuracy = 0;
  std::size_t test_rows = 0;
  std::int64_t skipped = 0;            ///< steps that were skipped
  bool not_finite = false;             ///< the last loss or a weight is NaN or infinite
  std::optional<std::string> gave_up;  ///< the scaler's message, if it ended the training
  ProductTally tally{};
  std::vector<LayerScale> layer_scales;  ///< the layers' last scales, if the scaler is adaptive
  std::vector<SwitchTally> switches;     ///< what autoswitch decided
  std::size_t parameters = 0;

  /// Returns the mean loss of the last tenth of the steps, at least of the last one; 0 if there are
  /// no steps.
  double final_loss() const;
  /// Returns the sum of the counts of all steps.
  StepCounts updates() const;
};

/// What a hook gets; valid during the call.
template <std::floating_point T>
struct StepView {
  std::int64_t step;
  double scale;  ///< factor in parameters' gradients until they are unscaled; times gradient_scale,
                 ///< in the tape's
  const Tape<T>& tape;
  const Model<T>& model;
  const Optimizer<T>& optimizer;
};

template <std::floating_point T>
struct Hooks {
  /// Called after each backward pass, before gradients are unscaled.
  std::function<void(const StepView<T>&)> after_backward = {};
  /// Called after each update of the weights; not called for skipped steps.
  std::function<void(const StepView<T>&)> after_step = {};
  /// Called with each gradient that a backward function computed, before it is added; may change
  /// it.
  std::function<void(std::vector<T>&)> gradient_filter = {};
  /// Called after each step; after the last one done == of, even if the scaler ended the training.
  std::function<void(std::int64_t done, std::int64_t of)> progress = {};
  /// Called after `progress`, with the log of the step.
  std::function<void(const StepLog& step, std::int64_t done, std::int64_t of)> logged = {};
};

/// Throws Error if the recipe contradicts itself or contains an unknown name: everything that can
/// be checked before the first step of a training in float.
void check_recipe(const TrainingRecipe& recipe);

/// Trains the workload's network and evaluates it. train<float> throws Error as check_recipe does.
/// train<double> is the same training in FP64, with the same batches and initial weights: its level
/// is O0 and it has no loss scale.
template <std::floating_point T>
TrainingLog train(const Workload<T>& workload, const TrainingRecipe& recipe,
                  const Hooks<T>& hooks = {});

}  // namespace binade
