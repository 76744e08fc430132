// SPDX-License-Identifier: Apache-2.0
//
// Dynamic loss scales of ten frameworks as one state machine and a table: when the scale grows, how far an
// inf brings it down, what hysteresis, floor and cap do. Where a framework's class and what it is run with have
// different defaults, each has a row. Policies that need statistics of the gradients are code of their own
// (log_max_scaler.h, histogram_scaler.h, layer_scaler.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// When a step without inf makes the scale grow.
enum class GrowthRule : std::uint8_t {
  never,
  equals,              ///< good steps since the last growth or inf == growth_interval
  at_least,            ///< the same >= growth_interval
  multiple,            ///< steps since the last inf are a multiple of growth_interval
  multiple_after_one,  ///< steps since the last inf, less one, are a positive multiple
};

/// What gives back the infs that a policy with hysteresis > 1 tolerates before it backs off.
enum class HysteresisRefill : std::uint8_t {
  growth,                ///< only a growth
  good_step,             ///< every step without inf
  good_step_or_backoff,  ///< that, and the backoff itself
};

/// What happens when an inf would bring the scale below what the policy allows.
enum class OnFloor : std::uint8_t {
  stay,              ///< the scale is the floor
  raise_if_there,    ///< Error if it is the floor already (DeepSpeed)
  raise_and_restore  ///< Error, and the scale is what it was (fairseq)
};

/// In what the original keeps its scale and multiplies it.
enum class ScaleArithmetic : std::uint8_t {
  python_float,     ///< binary64
  float32,          ///< scale and factors
  float_by_double,  ///< factors in binary64, the product rounded to binary32 (ATen's kernel)
};

struct LossScalePolicy {
  std::string_view name;
  double init_scale = 1;
  double growth_factor = 2;
  std::int64_t growth_interval = 2000;
  GrowthRule growth_rule = GrowthRule::equals;
  double backoff_factor = 0.5;
  bool backoff_divides = false;  ///< the scale is divided by backoff_factor (then 2)
  std::int64_t hysteresis = 1;   ///< the inf of this number backs off, those before do not
  HysteresisRefill refill = HysteresisRefill::growth;
  std::optional<double> floor = {};
  std::optional<double> cap = {};
  bool caps_init = false;  ///< a larger init_scale is the cap (Apex, OpenSeq2Seq)
  std::optional<double> threshold =
      {};  ///< a backoff ends here, above the floor that raises (fairseq)
  bool grows_only_if_finite = false;
  OnFloor on_floor = OnFloor::stay;
  bool is_late = false;  ///< what an update decides is the scale of the step after the next (MXNet)
  double tolerance =
      0;  ///< backs off only if the share of infs since the last change is >= this (fairseq)
  bool skips = true;  ///< the optimizer does not step on an inf; a static scale does not look
  ScaleArithmetic arithmetic = ScaleArithmetic::python_float;
  std::string_view source = {};  ///< where the row is defined
};

/// torch, apex, keras2, keras3, jmp, deepspeed, deepspeed_class, megatron, fairseq, fairseq_class,
/// openseq2seq_backoff, paddle, paddle_static, mxnet, static (scale 1; `static_policy` for another), none.
std::span<const LossScalePolicy> loss_scale_policies();
/// Throws Error for a name that is none of them; "static:1024" is static with that scale.
LossScalePolicy loss_scale_policy(std::string_view name);
/// Error unless 2^-126 <= scale <= 2^127.
LossScalePolicy static_policy(double scale);

/// What a policy remembers. Which numbers count depends on the rule.
struct LossScalerState {
  double scale = 1;
  std::int64_t growth_tracker = 0;  ///< good steps since the last growth or inf
  std::int64_t step = 0;            ///< calls of update
  std::int64_t last_overflow = -1;  ///< step of the last inf
  std::int64_t hysteresis_left = 1;
  std::int64_t last_rescale = -1;            ///< step of the last change (fairseq)
  std::int64_t overflows_since_rescale = 0;  ///< since the last backoff (fairseq's name)
  std::optional<double> next_scale = {};     ///< of a late policy: decided, and not yet in use

  friend bool operator==(const LossScalerState&, const LossScalerState&) = default;
};

/// Where the policy begins, as it was given: init_scale, or the cap where that caps it.
double first_scale(const LossScalePolicy& policy);

class LossScaler {
 public:
  explicit LossScaler(const LossScalePolicy& policy);

  const LossScalePolicy& policy() const { return policy_; }
  /// The policy may be changed under way, as PyTorch's set_growth_interval does.
  void set_policy(const LossScalePolicy& policy);

  /// What the loss is multiplied by: the policy's scale in binary32.
  float scale() const { return static_cast<float>(state_.scale); }
  /// After a step: true where the optimizer was to step. Throws Error where the policy gives up.
  bool update(bool found_inf);
  /// Overwrites the scale and nothing else.
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

/// A scale as JSON, which has neither infinity nor NaN: "inf", "nan". Reading gives nothing for what is none.
nlohmann::ordered_json scale_json(double scale);
std::optional<double> scale_of(const nlohmann::json& json);

/// {scale, growth_tracker, …}: the state as it is kept in a checkpoint. Reading throws Error for what is none.
nlohmann::ordered_json loss_scaler_json(const LossScalerState& state);
LossScalerState loss_scaler_state(const nlohmann::json& json);

}  // namespace binade
