// SPDX-License-Identifier: Apache-2.0
//
// The states of loss scalers as JSON, as checkpoints keep them.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "lib/amp/loss_scaler.h"

namespace binade {

/// Returns the scale that a state's JSON holds: a number, "inf" or "nan", since JSON has neither
/// infinity nor NaN; nothing for anything else.
std::optional<double> scale_of(const nlohmann::json& json);

/// Convert a state to JSON, {scale, growth_tracker, …}, as a checkpoint keeps it, and back.
/// loss_scaler_state throws Error for JSON that is not such a state.
nlohmann::ordered_json loss_scaler_json(const LossScalerState& state);
LossScalerState loss_scaler_state(const nlohmann::json& json);

}  // namespace binade
