// SPDX-License-Identifier: Apache-2.0
//
// The rows of the loss scale policies and the one state machine that runs them.
#include "lib/amp/loss_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr double two_to_15 = 32768, two_to_16 = 65536, two_to_24 = 16777216, two_to_32 = 4294967296;

/// Makes the table. Three things are not in it: jmp has no default for init_scale, and the row has
/// the 2^15 of its documentation; Paddle's other decorator for static graphs begins at 2^15, with a
/// growth interval of 1000 steps, a hysteresis of 2 and a backoff factor of 0.8; DeepSpeed's
/// unfused optimizer has a floor of 0.25.
std::vector<LossScalePolicy> make_policies() {
  using enum GrowthRule;
  using enum ScaleArithmetic;
  return {
      {.name = "torch",
       .init_scale = two_to_16,
       .grows_only_if_finite = true,
       .arithmetic = float_by_double,
       .source = "torch/amp/grad_scaler.py, ATen/native/cuda/AmpKernels.cu (2.1 and later)"},
      {.name = "apex",
       .init_scale = two_to_16,
       .backoff_factor = 2,
       .backoff_divides = true,
       .cap = two_to_24,
       .caps_init = true,
       .arithmetic = python_float,
       .source = "apex/amp/scaler.py"},
      {.name = "keras2",
       .init_scale = two_to_15,
       .growth_rule = at_least,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1,
       .grows_only_if_finite = true,
       .arithmetic = float32,
       .source = "tf.keras 2 mixed_precision/loss_scale_optimizer.py"},
      {.name = "keras3",
       .init_scale = two_to_15,
       .backoff_factor = 2,
       .backoff_divides = true,
       .arithmetic = float32,
       .source = "keras 3 optimizers/loss_scale_optimizer.py"},
      {.name = "jmp",
       .init_scale = two_to_15,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1,
       .grows_only_if_finite = true,
       .arithmetic = float32,
       .source = "jmp/_src/loss_scale.py"},
      {.name = "deepspeed",
       .init_scale = two_to_16,
       .growth_interval = 1000,
       .growth_rule = multiple_after_one,
       .backoff_factor = 2,
       .backoff_divides = true,
       .hysteresis = 2,
       .floor = 1,
       .on_floor = OnFloor::raise_if_there,
       .arithmetic = python_float,
       .source =
           "deepspeed/runtime/fp16/loss_scaler.py (0.17 and later), the configuration's defaults"},
      {.name = "deepspeed_class",
       .init_scale = two_to_32,
       .growth_interval = 1000,
       .growth_rule = multiple,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1,
       .on_floor = OnFloor::raise_if_there,
       .arithmetic = python_float,
       .source =
           "deepspeed/runtime/fp16/loss_scaler.py (before 0.17), the class's defaults: ZeRO with "
           "fp16 enabled and nothing else said"},
      {.name = "megatron",
       .init_scale = two_to_32,
       .growth_interval = 1000,
       .hysteresis = 2,
       .floor = 1,
       .arithmetic = float32,
       .source = "megatron/core/optimizer/grad_scaler.py"},
      {.name = "fairseq",
       .init_scale = 128,
       .growth_interval = 16384,
       .growth_rule = multiple,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1e-4,
       .on_floor = OnFloor::raise_and_restore,
       .arithmetic = python_float,
       .source =
           "fairseq/optim/fp16_optimizer.py, the trainer's defaults on one device: the window is "
           "2^14 / devices / update_freq"},
      {.name = "fairseq_class",
       .init_scale = two_to_15,
       .growth_rule = multiple,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1e-4,
       .on_floor = OnFloor::raise_and_restore,
       .arithmetic = python_float,
       .source = "fairseq/optim/dynamic_loss_scaler.py, the class's defaults"},
      {.name = "openseq2seq_backoff",
       .init_scale = two_to_24,
       .growth_rule = multiple,
       .backoff_factor = 2,
       .backoff_divides = true,
       .floor = 1,
       .cap = two_to_24,
       .caps_init = true,
       .arithmetic = float32,
       .source = "open_seq2seq/optimizers/automatic_loss_scaler.py"},
      {.name = "paddle",
       .init_scale = two_to_16,
       .refill = HysteresisRefill::good_step_or_backoff,
       .arithmetic = float32,
       .source =
           "python/paddle/amp/grad_scaler.py (eager GradScaler); decr_every_n_nan_or_inf is the "
           "hysteresis"},
      {.name = "paddle_static",
       .init_scale = two_to_16,
       .refill = HysteresisRefill::good_step_or_backoff,
       .floor = 1,
       .grows_only_if_finite = true,
       .arithmetic = float32,
       .source = "paddle/phi/kernels/impl/amp_kernel_impl.h (static graphs)"},
      {.name = "mxnet",
       .init_scale = two_to_16,
       .backoff_factor = 2,
       .backoff_divides = true,
       .cap = two_to_24,
       .is_late = true,
       .arithmetic = python_float,
       .source = "mxnet/contrib/amp/loss_scaler.py (1.x), mxnet/amp/loss_scaler.py (2.x)"},
      {.name = "static", .growth_rule = never, .skips = false, .source = "one scale for good"},
      {.name = "none", .growth_rule = never, .skips = false, .source = "no scaling"},
  };
}

double times(double scale, double factor, ScaleArithmetic arithmetic) {
  switch (arithmetic) {
    case ScaleArithmetic::python_float: return scale * factor;
    case ScaleArithmetic::float32: return static_cast<float>(scale) * static_cast<float>(factor);
    case ScaleArithmetic::float_by_double: return static_cast<float>(scale * factor);
  }
  return scale;
}

double over(double scale, double factor, ScaleArithmetic arithmetic) {
  if (arithmetic == ScaleArithmetic::python_float) return scale / factor;
  return static_cast<float>(scale) / static_cast<float>(factor);
}

/// Returns the scale rounded to the format in which the policy keeps it.
double kept(double scale, ScaleArithmetic arithmetic) {
  return arithmetic == ScaleArithmetic::python_float ? scale : static_cast<float>(scale);
}

[[noreturn]] void give_up(const LossScalePolicy& policy) {
  throw Error(fmt::format(
      "loss scale: {} gives up at its minimum {:g}; look for NaN in the loss or lower the "
      "learning rate",
      policy.name, *policy.floor));
}

}  // namespace

std::span<const LossScalePolicy> loss_scale_policies() {
  static const std::vector<LossScalePolicy> policies = make_policies();
  return policies;
}

LossScalePolicy static_policy(double scale) {
  if (!(scale >= 0x1p-126 && scale <= 0x1p127)) {  // a normal number of binary32
    throw Error(fmt::format("static loss scale {:g}: give a number from 2^-126 to 2^127", scale));
  }
  LossScalePolicy policy = loss_scale_policy("static");
  policy.init_scale = scale;
  return policy;
}

LossScalePolicy loss_scale_policy(std::string_view name) {
  constexpr std::string_view prefix = "static:";
  if (name.starts_with(prefix)) {
    const std::string_view number = name.substr(prefix.size());
    double scale = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), scale);
    if (error == std::errc() && end == number.data() + number.size()) return static_policy(scale);
  }
  std::string known;
  for (const LossScalePolicy& policy : loss_scale_policies()) {
    if (policy.name == name) return policy;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", policy.name);
  }
  throw Error(fmt::format("loss scale policy {}: there is none; choose of {}, static:SCALE",
                          printable(name), known));
}

double first_scale(const LossScalePolicy& policy) {
  const bool capped = policy.caps_init && policy.cap;
  return capped ? std::min(policy.init_scale, *policy.cap) : policy.init_scale;
}

LossScaler::LossScaler(const LossScalePolicy& policy) {
  set_policy(policy);
  set_scale(first_scale(policy));
  state_.hysteresis_left = policy.hysteresis;
}

void LossScaler::set_policy(const LossScalePolicy& policy) {
  const bool counts_multiples = policy.growth_rule == GrowthRule::multiple ||
                                policy.growth_rule == GrowthRule::multiple_after_one;
  if (counts_multiples && policy.growth_interval < 1) {
    throw Error(fmt::format(
        "loss scale: {} counts multiples of growth_interval, which is {}; give at least 1",
        policy.name, policy.growth_interval));
  }
  policy_ = policy;
}

bool LossScaler::update(bool found_inf) {
  if (policy_.growth_rule != GrowthRule::never) {
    const double in_use = state_.next_scale.value_or(state_.scale);
    state_.scale = in_use;
    decide(found_inf);
    if (policy_.is_late) state_.next_scale = std::exchange(state_.scale, in_use);
  }
  ++state_.step;
  return !found_inf || !policy_.skips;
}

void LossScaler::decide(bool found_inf) {
  if (found_inf) {
    back_off();
  } else {
    count_good_step();
  }
}

void LossScaler::back_off() {
  const bool tolerated = state_.hysteresis_left > 1;
  if (!tolerated && policy_.on_floor == OnFloor::raise_if_there && policy_.floor &&
      state_.scale == *policy_.floor) {
    give_up(policy_);
  }
  const double before = state_.scale;
  const std::int64_t since_rescale = state_.step - state_.last_rescale;
  state_.growth_tracker = 0;
  state_.last_overflow = state_.step;
  state_.overflows_since_rescale += 1;
  if (tolerated) {
    state_.hysteresis_left -= 1;
    return;
  }
  if (policy_.refill == HysteresisRefill::good_step_or_backoff) {
    state_.hysteresis_left = policy_.hysteresis;
  }
  // As in fairseq, 1000 stands for a distance of 0, which a step has that is repeated after an
  // error.
  const double share = static_cast<double>(state_.overflows_since_rescale) /
                       (since_rescale == 0 ? 1000 : static_cast<double>(since_rescale));
  if (share >= policy_.tolerance) {
    state_.scale = policy_.backoff_divides
                       ? over(before, policy_.backoff_factor, policy_.arithmetic)
                       : times(before, policy_.backoff_factor, policy_.arithmetic);
    if (policy_.threshold) state_.scale = std::max(state_.scale, *policy_.threshold);
    state_.last_rescale = state_.step;
    state_.overflows_since_rescale = 0;
  }
  if (!policy_.floor) return;
  if (policy_.on_floor == OnFloor::raise_and_restore) {
    if (state_.scale > *policy_.floor) return;
    state_.scale = before;
    give_up(policy_);
  }
  state_.scale = std::max(state_.scale, kept(*policy_.floor, policy_.arithmetic));
}

void LossScaler::count_good_step() {
  if (policy_.refill != HysteresisRefill::growth) state_.hysteresis_left = policy_.hysteresis;
  const std::int64_t good = state_.growth_tracker + 1;
  const std::int64_t since_inf = state_.step - state_.last_overflow;
  bool grows = false;
  switch (policy_.growth_rule) {
    case GrowthRule::never: break;
    case GrowthRule::equals: grows = good == policy_.growth_interval; break;
    case GrowthRule::at_least: grows = good >= policy_.growth_interval; break;
    case GrowthRule::multiple: grows = since_inf % policy_.growth_interval == 0; break;
    case GrowthRule::multiple_after_one:
      grows = since_inf > 1 && (since_inf - 1) % policy_.growth_interval == 0;
      break;
  }
  state_.growth_tracker = grows ? 0 : good;
  if (grows) grow();
}

void LossScaler::grow() {
  if (policy_.refill == HysteresisRefill::growth) state_.hysteresis_left = policy_.hysteresis;
  double grown = times(state_.scale, policy_.growth_factor, policy_.arithmetic);
  if (policy_.cap) grown = std::min(grown, kept(*policy_.cap, policy_.arithmetic));
  if (policy_.grows_only_if_finite && !std::isfinite(grown)) return;
  state_.scale = grown;
  state_.last_rescale = state_.step;
}

void LossScaler::set_scale(double scale) {
  state_.scale = kept(scale, policy_.arithmetic);
  if (policy_.is_late) state_.next_scale = state_.scale;
}

void LossScaler::set_state(const LossScalerState& state) {
  state_ = state;
  state_.scale = kept(state.scale, policy_.arithmetic);
}

}  // namespace binade
