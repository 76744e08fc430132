// SPDX-License-Identifier: Apache-2.0
//
// What the objects of loss scalers share: parameters by name, and states.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

#include "lib/amp/policy_parameters.h"

namespace binade::python {

/// Parameters of a policy by name; Error for those that it does not have.
ScalerParameters given_parameters(std::string_view policy, const nanobind::dict& given);

/// A state as dict, its scales as numbers, of which JSON has neither infinity nor NaN.
nanobind::object with_numbers(const nlohmann::ordered_json& state);

}  // namespace binade::python
