// SPDX-License-Identifier: Apache-2.0
//
// Evidence as JSON: what is known about the instructions of an architecture, which undecided rules
// a validation depends on, and which rules its rows follow.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lib/evidence/tally.h"

namespace binade {

/// Returns an architecture as `binade architectures --json` writes it: its instructions, each with
/// its model and all its evidence.
nlohmann::ordered_json evidence_json(const Architecture& on);
nlohmann::ordered_json touched_json(const Touched& touched);
nlohmann::ordered_json tally_json(const std::vector<AspectTally>& tally);

}  // namespace binade
