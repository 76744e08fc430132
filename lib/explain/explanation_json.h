// SPDX-License-Identifier: Apache-2.0
//
// An explanation as JSON, schema "binade.explain/1". Every number is written as all its decimal
// digits and as the nearest double, and one that is an encoding also as its bits and type.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/explain/explanation.h"

namespace binade {

nlohmann::ordered_json explanation_json(const Explanation& x);

}  // namespace binade
