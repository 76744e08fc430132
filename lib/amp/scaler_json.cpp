// SPDX-License-Identifier: Apache-2.0
//
// Writes and checks the states of loss scalers. JSON has neither infinity nor NaN: they are texts.
#include "lib/amp/scaler_json.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "lib/text/error.h"

namespace binade {
namespace {

nlohmann::ordered_json scale_json(double scale) {
  if (std::isfinite(scale)) return scale;
  return std::isnan(scale) ? "nan" : "inf";
}

}  // namespace

std::optional<double> scale_of(const nlohmann::json& json) {
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

nlohmann::ordered_json loss_scaler_json(const LossScalerState& state) {
  nlohmann::ordered_json out;
  out["scale"] = scale_json(state.scale);
  out["growth_tracker"] = state.growth_tracker;
  out["step"] = state.step;
  out["last_overflow"] = state.last_overflow;
  out["hysteresis_left"] = state.hysteresis_left;
  out["last_rescale"] = state.last_rescale;
  out["overflows_since_rescale"] = state.overflows_since_rescale;
  if (state.next_scale) out["next_scale"] = scale_json(*state.next_scale);
  return out;
}

LossScalerState loss_scaler_state(const nlohmann::json& json) {
  const auto wrong = [](std::string_view key) {
    return Error("loss scaler state: " + std::string(key) +
                 " is missing or no number; give a state as it was written");
  };
  const auto integer = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer() ||
        json[key].get<double>() >= 0x1p63) {
      throw wrong(key);
    }
    return json[key].get<std::int64_t>();
  };
  const auto scale = [&](const char* key) {
    const auto found = json.is_object() && json.contains(key) ? scale_of(json[key]) : std::nullopt;
    if (!found || *found < 0) throw wrong(key);
    return *found;
  };
  LossScalerState state;
  state.scale = scale("scale");
  if (json.contains("next_scale")) state.next_scale = scale("next_scale");
  state.growth_tracker = integer("growth_tracker");
  state.step = integer("step");
  if (state.growth_tracker < 0) throw wrong("growth_tracker");
  if (state.step < 0) throw wrong("step");
  state.last_overflow = integer("last_overflow");
  state.hysteresis_left = integer("hysteresis_left");
  state.last_rescale = integer("last_rescale");
  state.overflows_since_rescale = integer("overflows_since_rescale");
  return state;
}

}  // namespace binade
