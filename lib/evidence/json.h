// SPDX-License-Identifier: Apache-2.0
//
// As JSON: what is known of an architecture's instructions, what a validation hangs on, which rules its rows follow.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lib/evidence/tally.h"

namespace binade {

/// An architecture of `binade architectures --json`: its instructions, each with model and evidence in full.
nlohmann::ordered_json evidence_json(const Architecture& on);
nlohmann::ordered_json touched_json(const Touched& touched);
nlohmann::ordered_json tally_json(const std::vector<AspectTally>& tally);

}  // namespace binade
