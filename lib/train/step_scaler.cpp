// SPDX-License-Identifier: Apache-2.0
//
// Chooses the scaler that a recipe names, and gives each scaler what it needs to know of the
// gradients.
#include "lib/train/step_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/amp/scaler_options.h"
#include "lib/amp/step_statistics.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/train/tensor_core_products.h"

namespace binade {
namespace {

constexpr std::uint64_t the_optimizer = 1;

OptimizerView view_of(const std::vector<Optimizer<float>::Gradient>& gradients,
                      std::function<void()> step = {}) {
  OptimizerView view{.id = the_optimizer, .gradients = {}, .step = std::move(step)};
  for (const auto& g : gradients) view.gradients.push_back({g.dtype, g.values});
  return view;
}

void multiply(const std::vector<Optimizer<float>::Gradient>& gradients, float factor) {
  for (const auto& g : gradients) {
    fastest_kernels().unscale_f32(g.values.data(), g.values.data(), g.values.size(), g.dtype,
                                  factor);
  }
}

StepStatistics look_at(const std::vector<Optimizer<float>::Gradient>& gradients) {
  std::vector<std::span<const float>> spans;
  for (const auto& g : gradients) spans.push_back(g.values);
  return statistics_of(spans);
}

LossScalePolicy policy_of(const TrainingRecipe& recipe, const OptLevel& level) {
  LossScalePolicy policy = loss_scale_policy(scaler_of(recipe));
  if (recipe.scaler.empty() && level.loss_scale && policy.name == "static") {
    policy = static_policy(*level.loss_scale);
  }
  policy = with_parameters(policy, recipe.scaler_parameters);
  if (policy.name == "static") {
    policy.skips = recipe.skip_overflow;
  }
  return policy;
}

std::vector<ScalerParameter> all_parameters() {
  std::vector<ScalerParameter> out;
  const auto add = [&out](const auto& table) {
    for (const ScalerParameter& row : table) {
      if (std::ranges::find(out, row.name, &ScalerParameter::name) == out.end()) out.push_back(row);
    }
  };
  add(policy_parameters());
  add(log_max_parameters());
  add(histogram_parameters());
  add(adaptive_parameters());
  return out;
}

}  // namespace

std::string_view scaler_of(const TrainingRecipe& recipe) {
  if (!recipe.scaler.empty()) return recipe.scaler;
  return training_format(recipe.products.format).scaled ? opt_level(recipe.level).scaler : "none";
}

std::span<const ScalerParameter> scaler_parameters() {
  static const std::vector<ScalerParameter> all = all_parameters();
  return all;
}

std::vector<std::string_view> step_scaler_names() {
  std::vector<std::string_view> names = names_of(loss_scale_policies());
  std::ranges::replace(names, std::string_view("static"), std::string_view("static:SCALE"));
  names.insert(names.end(), {"log_max", "histogram", "adaptive"});
  return names;
}

ScalerTakes scaler_takes(const TrainingRecipe& recipe) {
  if (recipe.scaler == "log_max") {
    static_cast<void>(log_max_options(recipe.scaler_parameters));
    return {names_of(log_max_parameters())};
  }
  if (recipe.scaler == "histogram") return {names_of(histogram_parameters())};
  if (recipe.scaler == "adaptive") return {names_of(adaptive_parameters())};
  const std::vector<std::string_view> names = step_scaler_names();
  const bool fixed = recipe.scaler == "static" || recipe.scaler.starts_with("static:");
  if (!fixed && !recipe.scaler.empty() && std::ranges::find(names, recipe.scaler) == names.end()) {
    throw Error(fmt::format("scaler {}: there is none{}; choose of {}", printable(recipe.scaler),
                            did_you_mean(recipe.scaler, names), listed(names)));
  }
  const LossScalePolicy policy = policy_of(recipe, opt_level(recipe.level));
  if (recipe.scaler.starts_with("static:")) return {{}, true};
  return {parameters_of(policy), policy.name == "static"};
}

template <>
StepScaler<double>::StepScaler(const TrainingRecipe&, const OptLevel&) {}

template <>
StepScaler<float>::StepScaler(const TrainingRecipe& recipe, const OptLevel& level) {
  if (recipe.scaler == "log_max") {
    scaler_ = LogMax{.scaler = LogMaxScaler(log_max_options(recipe.scaler_parameters))};
  } else if (recipe.scaler == "histogram") {
    scaler_ = Histogram{HistogramScaler(histogram_options(recipe.scaler_parameters))};
  } else if (recipe.scaler == "adaptive") {
    scaler_ = Adaptive{.scaler = AdaptiveLayerScaler(adaptive_options(recipe.scaler_parameters))};
  } else {
    const LossScalePolicy policy = policy_of(recipe, level);
    scaler_.emplace<GradScaler>(
        policy, GradScaler::Options{.enabled = policy.name != "none", .allow_fp16 = true});
  }
}

template <std::floating_point T>
double StepScaler<T>::scale() const {
  if (const auto* grad = std::get_if<GradScaler>(&scaler_)) {
    return grad->get_scale();
  }
  if (const auto* log_max = std::get_if<LogMax>(&scaler_)) {
    return static_cast<double>(log_max->scaler.scale());
  }
  if (const auto* histogram = std::get_if<Histogram>(&scaler_)) {
    return static_cast<double>(histogram->scaler.scale());
  }
  if (const auto* adaptive = std::get_if<Adaptive>(&scaler_)) {
    return adaptive->scaler.options().init_scale;
  }
  return 1;
}

template <std::floating_point T>
AdaptiveLayerScaler* StepScaler<T>::layer_scaler() {
  auto* adaptive = std::get_if<Adaptive>(&scaler_);
  return adaptive == nullptr ? nullptr : &adaptive->scaler;
}

template <>
void StepScaler<double>::unscale(const Gradients&) {}

template <>
void StepScaler<float>::unscale(const Gradients& gradients) {
  if (auto* grad = std::get_if<GradScaler>(&scaler_)) {
    // As in PyTorch, the scaler has no scale before the first call of scale(); the loop multiplies
    // the loss itself.
    static_cast<void>(grad->scale_loss(1));
    grad->unscale_(view_of(gradients));
    return;
  }
  const auto inverse = static_cast<float>(1 / scale());
  if (auto* log_max = std::get_if<LogMax>(&scaler_)) {
    const StepStatistics seen = look_at(gradients);
    log_max->found_inf = seen.found_inf;
    log_max->amax = seen.amax * inverse;
  } else if (auto* histogram = std::get_if<Histogram>(&scaler_)) {
    for (const auto& g : gradients) histogram->scaler.count(g.values);
  } else if (auto* adaptive = std::get_if<Adaptive>(&scaler_)) {
    adaptive->found_inf = look_at(gradients).found_inf;
  }
  multiply(gradients, inverse);
}

template <>
bool StepScaler<double>::step(const Gradients&, const std::function<void()>& optimizer_step) {
  optimizer_step();
  return true;
}

template <>
bool StepScaler<float>::step(const Gradients& gradients,
                             const std::function<void()>& optimizer_step) {
  if (auto* grad = std::get_if<GradScaler>(&scaler_)) {
    return grad->step(view_of(gradients, optimizer_step));
  }
  if (const auto* log_max = std::get_if<LogMax>(&scaler_); log_max && log_max->found_inf) {
    return false;
  }
  if (const auto* adaptive = std::get_if<Adaptive>(&scaler_); adaptive && adaptive->found_inf) {
    return false;
  }
  optimizer_step();
  return true;
}

template <std::floating_point T>
void StepScaler<T>::update() {
  if (auto* grad = std::get_if<GradScaler>(&scaler_)) {
    try {
      grad->update();
    } catch (const Error& reason) {
      throw ScalerGaveUp(reason.what());
    }
  } else if (auto* log_max = std::get_if<LogMax>(&scaler_)) {
    log_max->scaler.update(log_max->found_inf, log_max->amax);
  } else if (auto* histogram = std::get_if<Histogram>(&scaler_)) {
    histogram->scaler.update();
  }
}

template class StepScaler<float>;
template class StepScaler<double>;

}  // namespace binade
