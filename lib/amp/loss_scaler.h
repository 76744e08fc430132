// SPDX-License-Identifier: Apache-2.0
//
// The dynamic loss scales of many frameworks as one state machine and a table: when the scale
// grows, how far an inf lowers it, and what hysteresis, floor and cap do. In these comments an inf
// is a gradient that is infinite or NaN, and a good step is a step without one. If the defaults of
// a framework's class differ from those of its configuration, each has a row. Policies that need
// statistics of the gradients have code of their own (log_max_scaler.h, histogram_scaler.h,
// layer_scaler.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace binade {

/// When a good step makes the scale grow.
enum class GrowthRule : std::uint8_t {
  never,
  equals,              ///< good steps since the last growth or inf == growth_interval
  at_least,            ///< good steps since the last growth or inf >= growth_interval
  multiple,            ///< steps since the last inf are a multiple of growth_interval
  multiple_after_one,  ///< that number less one is a positive multiple of growth_interval
};

/// When the count of infs that a policy with hysteresis > 1 tolerates before it backs off starts
/// anew.
enum class HysteresisRefill : std::uint8_t {
  growth,                ///< when the scale grows
  good_step,             ///< after every good step
  good_step_or_backoff,  ///< after every good step and after every backoff
};

/// What happens when an inf would bring the scale to the floor or below.
enum class OnFloor : std::uint8_t {
  stay,              ///< the scale becomes the floor
  raise_if_there,    ///< update throws Error if the scale is the floor already (DeepSpeed)
  raise_and_restore  ///< update throws Error and leaves the scale as it was (fairseq)
};

/// The formats in which the original keeps its scale and multiplies it.
enum class ScaleArithmetic : std::uint8_t {
  python_float,     ///< scale and factors in binary64
  float32,          ///< scale and factors in binary32
  float_by_double,  ///< factors in binary64, the product rounded to binary32 (ATen's kernel)
};

/// A row of the table: how one framework changes its loss scale.
struct LossScalePolicy {
  std::string_view name;
  double init_scale = 1;
  double growth_factor = 2;
  std::int64_t growth_interval = 2000;
  GrowthRule growth_rule = GrowthRule::equals;
  double backoff_factor = 0.5;
  bool backoff_divides = false;  ///< a backoff divides by backoff_factor (2 in the table)
  std::int64_t hysteresis = 1;   ///< the inf with this number, from 1, is the first to back off
  HysteresisRefill refill = HysteresisRefill::growth;
  /// Smallest scale (with raise_and_restore the scale must stay above it); none: no limit.
  std::optional<double> floor = {};
  std::optional<double> cap = {};  ///< largest scale; none: no limit
  bool caps_init = false;  ///< an init_scale above the cap is lowered to it (Apex, OpenSeq2Seq)
  std::optional<double> threshold =
      {};  ///< no backoff goes below this, which lies above the floor (fairseq)
  bool grows_only_if_finite = false;  ///< a growth to infinity leaves the scale as it was
  OnFloor on_floor = OnFloor::stay;
  bool is_late = false;  ///< an update decides the scale of the step after the next one (MXNet)
  /// Backs off only if (infs since the last backoff) / (steps since the last change of the scale)
  /// is at least this (fairseq).
  double tolerance = 0;
  bool skips = true;  ///< the optimizer skips a step with an inf; false: it steps anyway
  ScaleArithmetic arithmetic = ScaleArithmetic::python_float;
  std::string_view source = {};  ///< the file of the framework that defines the policy
};

/// Returns the table. Its row `static` has the scale 1 (`static_policy` gives others), `none` has
/// none.
std::span<const LossScalePolicy> loss_scale_policies();
/// Returns the policy of that name; "static:1024" is static with the scale 1024. Throws Error for
/// any other name.
LossScalePolicy loss_scale_policy(std::string_view name);
/// Returns the policy static with another scale. Throws Error unless 2^-126 <= scale <= 2^127.
LossScalePolicy static_policy(double scale);

/// The state of a policy. Which members matter depends on the policy.
struct LossScalerState {
  double scale = 1;
  std::int64_t growth_tracker = 0;   ///< good steps since the last growth or inf
  std::int64_t step = 0;             ///< calls of update
  std::int64_t last_overflow = -1;   ///< step of the last inf
  std::int64_t hysteresis_left = 1;  ///< 1: the next inf backs off; n: n - 1 more are tolerated
  std::int64_t last_rescale = -1;    ///< step of the last change of the scale (fairseq)
  std::int64_t overflows_since_rescale = 0;  ///< infs since the last backoff (fairseq's name)
  std::optional<double> next_scale = {};     ///< is_late: the decided scale, not yet in use

  friend bool operator==(const LossScalerState&, const LossScalerState&) = default;
};

/// Returns the scale of the first step: init_scale, or the cap if the policy caps it. It is not
/// rounded to the policy's arithmetic.
double first_scale(const LossScalePolicy& policy);

class LossScaler {
 public:
  explicit LossScaler(const LossScalePolicy& policy);

  const LossScalePolicy& policy() const { return policy_; }
  /// Changes the policy during a training, as PyTorch's set_growth_interval does. Throws Error if
  /// the policy counts multiples of a growth_interval that is less than 1.
  void set_policy(const LossScalePolicy& policy);

  /// Returns the factor of the loss: the policy's scale in binary32.
  float scale() const { return static_cast<float>(state_.scale); }
  /// Computes the next scale after a step; `found_inf` says whether the step had an inf. Returns
  /// whether the optimizer has to step. Throws Error if the policy gives up (OnFloor).
  bool update(bool found_inf);
  /// Overwrites the scale (and the next one of a late policy) and nothing else.
  void set_scale(double scale);

  const LossScalerState& state() const { return state_; }
  void set_state(const LossScalerState& state);

 private:
  void decide(bool found_inf);
  void back_off();
  void count_good_step();
  void grow();

  LossScalePolicy policy_;
  LossScalerState state_;
};

}  // namespace binade
