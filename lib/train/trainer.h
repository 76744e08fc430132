// SPDX-License-Identifier: Apache-2.0
//
// One training: a recipe (what is computed in which format), a workload (which network sees which data),
// and a loop that does what a PyTorch user writes: scale, backward, unscale_, clip, step, update.
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
  std::string level = "native";  ///< of opt_levels: O0, O1, O2, O3, native, half
  ProductChoice products{};
  /// Of loss_scale_policies, "static:1024", "log_max", "histogram", "adaptive"; empty: the level's where the
  /// format's gradients want one (TrainingFormat::scaled), else none.
  std::string scaler{};
  ScalerParameters
      scaler_parameters{};  ///< of scaler_parameters(); what is not there is the scaler's
  std::optional<AutoswitchOptions> autoswitch{};  ///< FP8 products that lose too much run in BF16
  bool skip_overflow = false;  ///< of static scales: a step that overflowed is skipped
  /// The backward pass sees the loss times 2^-loss_shift, undone in binary32 before the step: gradients
  /// as small as those of a network whose gradients are, with everything else as it is.
  int loss_shift = 0;
  OptimizerOptions optimizer{};          ///< its master_weights are the level's
  std::optional<bool> master_weights{};  ///< other than the level's
  double clip_norm = 0;                  ///< 0: none
  std::int64_t steps = 440;
  std::uint64_t seed = 0;
};

/// Networks and data. Functions of step and seed alone.
template <std::floating_point T>
struct Workload {
  std::function<Model<T>(std::uint64_t seed)> make;
  std::function<Batch<T>(std::uint64_t seed, std::int64_t step)> train_batch;
  std::size_t test_batches = 0;
  std::function<Batch<T>(std::size_t i)> test_batch;
};

struct StepLog {
  double loss = 0;
  double scale = 1;  ///< the loss was multiplied by it
  bool skipped = false;
  StepCounts updates{};
};

struct TrainingLog {
  std::vector<StepLog> steps;
  double test_loss = 0;
  double test_accuracy = 0;  ///< share of rows whose largest logit is the target's
  std::size_t test_rows = 0;
  std::int64_t skipped = 0;
  bool not_finite = false;             ///< a loss or a weight was NaN or infinite at the end
  std::optional<std::string> gave_up;  ///< the scaler's reason, where it raised
  ProductTally tally{};
  std::vector<LayerScale> layer_scales;  ///< at the end, of scaler adaptive
  std::vector<SwitchTally> switches;     ///< of autoswitch
  std::size_t parameters = 0;

  /// Mean loss of the last tenth of the steps.
  double final_loss() const;
  /// Of all steps together.
  StepCounts updates() const;
};

/// What a hook sees; valid during the call.
template <std::floating_point T>
struct StepView {
  std::int64_t step;
  double
      scale;  ///< gradients of the tape and of parameters carry it; the tape's also their gradient_scale
  const Tape<T>& tape;
  const Model<T>& model;
  const Optimizer<T>& optimizer;
};

template <std::floating_point T>
struct Hooks {
  /// Gradients as backward left them.
  std::function<void(const StepView<T>&)> after_backward = {};
  /// Weights and updates as the step left them; not called for skipped steps.
  std::function<void(const StepView<T>&)> after_step = {};
  /// Each gradient that a backward function gives, before it is added: may change it.
  std::function<void(std::vector<T>&)> gradient_filter = {};
  /// After each step; done == of after the last one, also where the scaler gave up.
  std::function<void(std::int64_t done, std::int64_t of)> progress = {};
  /// The same with what the step gave; called after `progress`.
  std::function<void(const StepLog& step, std::int64_t done, std::int64_t of)> logged = {};
};

/// Error where the recipe contradicts itself, or names what there is not: all that can be known before a
/// step in binary32.
void check_recipe(const TrainingRecipe& recipe);

/// Error as check_recipe's, for float. For double the level is O0 and nothing is scaled: the FP64
/// twin of the same batches and initial weights.
template <std::floating_point T>
TrainingLog train(const Workload<T>& workload, const TrainingRecipe& recipe,
                  const Hooks<T>& hooks = {});

}  // namespace binade
