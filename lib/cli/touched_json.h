// SPDX-License-Identifier: Apache-2.0
//
// What a validation hangs on, and which rules its rows follow, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lib/evidence/tally.h"

namespace binade {

nlohmann::ordered_json json_of(const Touched& touched);
nlohmann::ordered_json json_of(const std::vector<AspectTally>& tally);

}  // namespace binade
