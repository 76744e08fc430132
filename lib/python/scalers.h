// SPDX-License-Identifier: Apache-2.0
//
// What the Python classes of loss scalers share: parameters by name, and states as dicts.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

#include "lib/amp/policy_parameters.h"

namespace binade::python {

/// The parameters of a policy from keyword arguments. Throws Error for one that the policy does not have.
ScalerParameters given_parameters(std::string_view policy, const nanobind::dict& given);

/// The state as a dict in which scales are floats, also if they are infinite or NaN, for which JSON has no numbers.
nanobind::object with_numbers(const nlohmann::ordered_json& state);

}  // namespace binade::python
