// SPDX-License-Identifier: Apache-2.0
//
// The loop of a training. The table of levels says what a level means; lib/amp decides everything
// about loss scales.
#include "lib/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/amp/autocast.h"
#include "lib/amp/opt_level.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "lib/train/step_scaler.h"

namespace binade {
namespace {

/// What a recipe means for a training in T.
template <class T>
struct Setup {
  OptLevel level;
  Format low;                ///< dtype of ops in low precision
  bool autocasts = false;    ///< the forward pass runs under autocast
  bool casts_model = false;  ///< weights and inputs are cast to `low`
  ProductSettings products;
  OptimizerOptions optimizer;
};

template <class T>
Setup<T> set_up(const TrainingRecipe& recipe) {
  Setup<T> out;
  out.level = opt_level(std::is_same_v<T, double> ? "O0" : recipe.level);
  out.low = training_format(recipe.products.format).dtype;
  out.optimizer = recipe.optimizer;
  if (std::is_same_v<T, double>) return out;
  const bool lowers = out.low != binary32;
  out.autocasts = out.level.patch_functions && lowers;
  out.casts_model = out.level.cast_model_type && *out.level.cast_model_type != binary32 && lowers;
  if (out.level.master_weights) out.optimizer.master_weights = *out.level.master_weights;
  if (recipe.master_weights) out.optimizer.master_weights = *recipe.master_weights;
  out.products = tensor_core_products(recipe.products);
  return out;
}

template <class T>
struct Losses {
  Var logits, loss;
};

template <class T>
Losses<T> forward(Tape<T>& tape, const Setup<T>& setup, const Model<T>& model, Batch<T> batch,
                  bool training) {
  std::optional<Autocast> scope;
  if (setup.autocasts)
    scope.emplace(DeviceType::cuda,
                  Autocast::Options{.dtype = setup.low, .lists = setup.level.lists});
  if (setup.casts_model && batch.inputs.size() != 0) {
    round_to(setup.low, std::span(batch.inputs.values));
    batch.inputs.dtype = setup.low;
  }
  Var logits = model.forward(tape, batch, training);
  if (setup.casts_model && setup.level.casts_outputs) logits = tape.cast(logits, binary32);
  const LayerScope name("loss");
  return {logits, cross_entropy(tape, logits, batch.targets)};
}

template <class T>
void evaluate(const Setup<T>& setup, const Workload<T>& workload, const Model<T>& model,
              TrainingLog& log) {
  std::size_t right = 0;
  double loss = 0;
  for (std::size_t i = 0; i < workload.test_batches; ++i) {
    poll();
    const Batch<T> batch = workload.test_batch(i);
    Tape<T> tape(setup.products);
    const Losses<T> out = forward(tape, setup, model, batch, false);
    const std::vector<T>& logits = tape.values(out.logits);
    const std::size_t classes = logits.size() / batch.targets.size();
    for (std::size_t row = 0; row < batch.targets.size(); ++row) {
      const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * classes);
      const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes));
      // Logits with a NaN, or whose largest is infinite, count as a wrong answer.
      const bool answers = std::none_of(begin, begin + static_cast<std::ptrdiff_t>(classes),
                                        [](T x) { return std::isnan(x); }) &&
                           std::isfinite(*best);
      right += answers && best - begin == batch.targets[row] ? 1 : 0;
    }
    loss +=
        static_cast<double>(tape.values(out.loss)[0]) * static_cast<double>(batch.targets.size());
    log.test_rows += batch.targets.size();
  }
  if (log.test_rows == 0) return;
  log.test_accuracy = static_cast<double>(right) / static_cast<double>(log.test_rows);
  log.test_loss = loss / static_cast<double>(log.test_rows);
}

template <class T>
bool all_finite(const Model<T>& model) {
  return std::ranges::all_of(model.parameters, [](const auto& parameter) {
    return std::ranges::all_of(parameter->value.values, [](T x) { return std::isfinite(x); });
  });
}

/// Multiplies gradients by 2^shift, in binary32 (check_recipe sees to that); this is exact unless
/// it over- or underflows.
template <class T>
void undo_shift(const std::vector<typename Optimizer<T>::Gradient>& gradients, int shift) {
  const T factor = static_cast<T>(std::ldexp(1.0, shift));
  for (const auto& gradient : gradients) {
    for (T& x : gradient.values) x *= factor;
  }
}

}  // namespace

void check_recipe(const TrainingRecipe& recipe) {
  const auto setup = set_up<float>(recipe);
  static_cast<void>(scaler_takes(recipe));
  static_cast<void>(optimizer_row(recipe.optimizer.name));
  if (setup.level.name == "O0" && setup.low != binary32) {
    throw Error(fmt::format("level O0 computes in binary32: format {} needs another level",
                            recipe.products.format));
  }
  const bool low_gradients = setup.casts_model && !setup.optimizer.master_weights;
  if (recipe.loss_shift != 0 && low_gradients) {
    throw Error(
        fmt::format("loss_shift is undone in binary32, but level {} without master weights has "
                    "gradients of {}: leave loss_shift out, or choose another level",
                    setup.level.name, recipe.products.format));
  }
}

double TrainingLog::final_loss() const {
  if (steps.empty()) return 0;
  const std::size_t n = std::max<std::size_t>(1, steps.size() / 10);
  double sum = 0;
  for (std::size_t i = steps.size() - n; i < steps.size(); ++i) sum += steps[i].loss;
  return sum / static_cast<double>(n);
}

StepCounts TrainingLog::updates() const {
  StepCounts sum;
  for (const StepLog& step : steps) sum += step.updates;
  return sum;
}

template <std::floating_point T>
TrainingLog train(const Workload<T>& workload, const TrainingRecipe& recipe,
                  const Hooks<T>& hooks) {
  if constexpr (std::is_same_v<T, float>) check_recipe(recipe);
  Setup<T> setup = set_up<T>(recipe);
  TrainingLog log;
  setup.products.tally = &log.tally;
  Model<T> model = workload.make(recipe.seed);
  if (setup.casts_model) {
    cast_model(model, setup.low, setup.level.keep_batchnorm_fp32.value_or(false));
  }
  Optimizer<T> optimizer(model.pointers(), setup.optimizer);
  StepScaler<T> scaler(recipe, setup.level);
  Autoswitch autoswitch(recipe.autoswitch.value_or(AutoswitchOptions{}));
  if (recipe.autoswitch && !std::is_same_v<T, double>) setup.products.autoswitch = &autoswitch;
  log.parameters = model.parameter_count();
  for (std::int64_t step = 0; step < recipe.steps; ++step) {
    poll();
    optimizer.zero_grad();
    Tape<T> tape(setup.products);
    tape.set_gradient_filter(&hooks.gradient_filter);
    tape.set_layer_scaler(scaler.layer_scaler());
    const Losses<T> out =
        forward(tape, setup, model, workload.train_batch(recipe.seed, step), true);
    StepLog& entry = log.steps.emplace_back();
    entry.loss = static_cast<double>(tape.values(out.loss)[0]);
    entry.scale = scaler.scale();
    const double factor = std::ldexp(entry.scale, -recipe.loss_shift);
    Var scaled = out.loss;
    if (factor != 1) scaled = scale(tape, out.loss, static_cast<T>(factor));
    tape.backward(scaled);
    const StepView<T> view{step, factor, tape, model, optimizer};
    if (hooks.after_backward) hooks.after_backward(view);
    const auto gradients = optimizer.gradients();
    try {
      scaler.unscale(gradients);
      if (recipe.loss_shift != 0) undo_shift<T>(gradients, recipe.loss_shift);
      if (recipe.clip_norm > 0) clip_grad_norm<T>(gradients, recipe.clip_norm);
      entry.skipped = !scaler.step(gradients, [&optimizer] { optimizer.step(); });
      scaler.update();
    } catch (const ScalerGaveUp& reason) {
      log.gave_up = reason.what();
    }
    log.skipped += entry.skipped ? 1 : 0;
    if (!entry.skipped) {
      entry.updates = optimizer.counts();
      if (hooks.after_step) hooks.after_step(view);
    }
    const std::int64_t done = log.gave_up ? recipe.steps : step + 1;
    if (hooks.progress) hooks.progress(done, recipe.steps);
    if (hooks.logged) hooks.logged(entry, done, recipe.steps);
    if (log.gave_up) break;
  }
  setup.products.autoswitch = nullptr;
  evaluate(setup, workload, model, log);
  if (const AdaptiveLayerScaler* layers = scaler.layer_scaler())
    log.layer_scales = layers->scales();
  log.switches = autoswitch.tallies();
  log.not_finite =
      !all_finite(model) || (!log.steps.empty() && !std::isfinite(log.steps.back().loss));
  return log;
}

template TrainingLog train(const Workload<float>&, const TrainingRecipe&, const Hooks<float>&);
template TrainingLog train(const Workload<double>&, const TrainingRecipe&, const Hooks<double>&);

}  // namespace binade
