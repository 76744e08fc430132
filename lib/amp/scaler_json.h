// SPDX-License-Identifier: Apache-2.0
//
// The states of loss scalers as JSON, as checkpoints keep them.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "lib/amp/grad_scaler.h"

namespace binade {

/// Convert a scale to JSON and back. JSON has neither infinity nor NaN: they become "inf" and
/// "nan". scale_of returns nothing if the JSON is neither these nor a number.
nlohmann::ordered_json scale_json(double scale);
std::optional<double> scale_of(const nlohmann::json& json);

/// Convert a state to JSON, {scale, growth_tracker, …}, as a checkpoint keeps it, and back.
/// loss_scaler_state throws Error for JSON that is not such a state.
nlohmann::ordered_json loss_scaler_json(const LossScalerState& state);
LossScalerState loss_scaler_state(const nlohmann::json& json);

/// Returns PyTorch's state_dict(): {scale, growth_factor, backoff_factor, growth_interval,
/// _growth_tracker}, or {} if the scaler is disabled. An infinite scale is "inf", a NaN "nan".
/// Policies other than torch add "policy" and "state".
nlohmann::ordered_json grad_scaler_json(const GradScaler& scaler);
/// Sets a state that grad_scaler_json() gave, or PyTorch's. Throws Error if a key that it reads is
/// missing or has a value of the wrong kind, and for another policy than torch if the state is not
/// of this policy; the scaler is then as it was. Does nothing if the scaler is disabled.
void load_grad_scaler_json(GradScaler& scaler, const nlohmann::json& state);

}  // namespace binade
