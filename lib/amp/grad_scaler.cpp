// SPDX-License-Identifier: Apache-2.0
//
// The state machine of torch/amp/grad_scaler.py, method by method. Where PyTorch raises a
// RuntimeError, a ValueError or an assertion, it throws Error with the same text.
#include "lib/amp/grad_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the policy. Throws Error where PyTorch's constructor would fail one of its assertions
/// about the factors.
const LossScalePolicy& asserted(const LossScalePolicy& policy, bool enabled) {
  if (!enabled || policy.growth_rule == GrowthRule::never) return policy;
  if (!(policy.growth_factor > 1)) throw Error("The growth factor must be > 1.0.");
  if (!policy.backoff_divides && !(policy.backoff_factor < 1)) {
    throw Error("The backoff factor must be < 1.0.");
  }
  return policy;
}

}  // namespace

GradScaler::GradScaler(const LossScalePolicy& policy, const Options& options)
    : options_(options),
      scaler_(asserted(policy, options.enabled)),
      unused_scale_(first_scale(policy)) {}

float GradScaler::scale_loss(float loss) {
  scale({&loss, 1});
  return loss;
}

void GradScaler::scale(std::span<float> outputs) {
  if (!options_.enabled) return;
  scale_used_ = true;
  const float factor = scaler_.scale();
  for (float& x : outputs) x *= factor;
}

void GradScaler::require_scaled(std::string_view function) const {
  if (scale_used_) return;
  throw Error(
      fmt::format("Attempted {} but _scale is None.  This may indicate your script did not use "
                  "scaler.scale(loss or outputs) earlier in the iteration.",
                  function));
}

std::optional<bool> GradScaler::unscale_gradients(const OptimizerView& optimizer, float inv_scale,
                                                  bool allow_fp16) {
  for (const GradientView& gradient : optimizer.gradients) {
    if (gradient.values.data() == nullptr) continue;
    if (gradient.dtype == binary16 && !allow_fp16) {
      throw Error("Attempting to unscale FP16 gradients.");
    }
    if (!fits_in(gradient.dtype, binary32)) {
      throw Error(fmt::format(
          "GradScaler: a gradient is {}, which binary32 does not hold; give gradients of "
          "a format that it holds",
          format_name(gradient.dtype)));
    }
  }
  if (first_is_old_) first_.reset();
  first_is_old_ = false;
  std::optional<bool> found_inf;
  for (std::size_t i = 0; i < optimizer.gradients.size(); ++i) {
    const GradientView& gradient = optimizer.gradients[i];
    if (gradient.values.data() == nullptr) continue;
    const std::span<float> values = gradient.values;
    const NonFinite first = fastest_kernels().unscale_f32(values.data(), values.data(),
                                                          values.size(), gradient.dtype, inv_scale);
    const bool found = first.at < values.size();
    if (found && !first_) first_ = FoundInf{optimizer.id, i, first.at, first.value};
    found_inf = found_inf.value_or(false) || found;
  }
  return found_inf;
}

std::shared_ptr<GradScaler::PerOptimizer> GradScaler::state_of(const OptimizerView& optimizer) {
  std::shared_ptr<PerOptimizer>& state = optimizers_.of[optimizer.id];
  if (state == nullptr) state = std::make_shared<PerOptimizer>();
  return state;
}

void GradScaler::unscale_(const OptimizerView& optimizer) {
  if (!options_.enabled) return;
  require_scaled("unscale_");
  const std::shared_ptr<PerOptimizer> kept = state_of(optimizer);
  PerOptimizer& state = *kept;
  if (state.stage == Stage::unscaled) {
    throw Error("unscale_() has already been called on this optimizer since the last update().");
  }
  if (state.stage == Stage::stepped) throw Error("unscale_() is being called after step().");
  const auto inv_scale = static_cast<float>(1 / static_cast<double>(scaler_.scale()));
  state.found_inf = unscale_gradients(optimizer, inv_scale, options_.allow_fp16);
  state.stage = Stage::unscaled;
}

bool GradScaler::step(const OptimizerView& optimizer) {
  if (!options_.enabled) {
    if (optimizer.step) optimizer.step();
    if (optimizer.fused_step) optimizer.fused_step(std::nullopt, false);
    return true;
  }
  require_scaled("step");
  const std::shared_ptr<PerOptimizer> kept = state_of(optimizer);
  PerOptimizer& state = *kept;
  if (state.stage == Stage::stepped) {
    throw Error("step() has already been called since the last update().");
  }
  if (optimizer.fused_step) return fused_step(optimizer, state);
  if (state.stage == Stage::ready) unscale_(optimizer);
  if (!state.found_inf) throw Error("No inf checks were recorded for this optimizer.");
  const bool steps = !*state.found_inf || !scaler_.policy().skips;
  if (steps && optimizer.step) optimizer.step();
  state.stage = Stage::stepped;
  return steps;
}

/// Searches the gradients, which may be binary16, for infinities and NaN without changing them, and
/// leaves unscaling and skipping to the optimizer.
bool GradScaler::fused_step(const OptimizerView& optimizer, PerOptimizer& state) {
  std::optional<float> grad_scale;
  if (state.stage == Stage::ready) {
    state.found_inf = unscale_gradients(optimizer, 1, true);
    grad_scale = scaler_.scale();
  }
  const bool found_inf = state.found_inf.value_or(false) && scaler_.policy().skips;
  optimizer.fused_step(grad_scale, found_inf);
  state.stage = Stage::stepped;
  return !found_inf;
}

void GradScaler::update(std::optional<float> new_scale) {
  if (!options_.enabled) return;
  require_scaled("update");
  if (new_scale) {
    scaler_.set_scale(*new_scale);
  } else {
    std::optional<bool> found_inf;
    for (const auto& [id, state] : optimizers_.of) {
      if (state->found_inf) found_inf = found_inf.value_or(false) || *state->found_inf;
    }
    if (!found_inf) throw Error("No inf checks were recorded prior to update.");
    optimizers_.of.clear();
    scaler_.update(*found_inf);  // throws Error if the policy gives up at its floor
  }
  optimizers_.of.clear();
  first_is_old_ = true;
}

double GradScaler::get_scale() const {
  if (!options_.enabled) return 1;
  return scale_used_ ? static_cast<double>(scaler_.scale()) : unused_scale_;
}

std::int64_t GradScaler::get_growth_tracker() const {
  return options_.enabled ? scaler_.state().growth_tracker : 0;
}

void GradScaler::set_growth_factor(double factor) {
  LossScalePolicy policy = scaler_.policy();
  policy.growth_factor = factor;
  scaler_.set_policy(policy);
}

void GradScaler::set_backoff_factor(double factor) {
  LossScalePolicy policy = scaler_.policy();
  policy.backoff_factor = factor;
  scaler_.set_policy(policy);
}

void GradScaler::set_growth_interval(std::int64_t interval) {
  LossScalePolicy policy = scaler_.policy();
  policy.growth_interval = interval;
  scaler_.set_policy(policy);
}

GradScalerState GradScaler::state() const {
  GradScalerState out{get_growth_factor(), get_backoff_factor(), get_growth_interval(),
                      scaler_.state()};
  if (!scale_used_) out.scaler.scale = unused_scale_;
  return out;
}

void GradScaler::set_state(const GradScalerState& state) {
  LossScalePolicy policy = scaler_.policy();
  policy.growth_factor = state.growth_factor;
  policy.backoff_factor = state.backoff_factor;
  policy.growth_interval = state.growth_interval;
  scaler_.set_policy(policy);
  scaler_.set_state(state.scaler);
  unused_scale_ = state.scaler.scale;
}

std::optional<bool> GradScaler::found_inf(std::uint64_t optimizer) const {
  const auto found = optimizers_.of.find(optimizer);
  return found == optimizers_.of.end() ? std::nullopt : found->second->found_inf;
}

}  // namespace binade
