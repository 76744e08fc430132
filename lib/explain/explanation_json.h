// SPDX-License-Identifier: Apache-2.0
//
// An explanation as JSON, schema "binade.explain/1". Every number is written as its bits, as all its
// decimal digits and as the nearest double.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/explain/explanation.h"

namespace binade {

nlohmann::ordered_json explanation_json(const Explanation& x);

}  // namespace binade
