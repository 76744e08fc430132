// SPDX-License-Identifier: Apache-2.0
//
// An identification, and a proposal, as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/identify/identification.h"
#include "lib/identify/propose.h"

namespace binade {

/// Returns the JSON of schema binade.identify/1, with at most `show` models.
nlohmann::ordered_json identification_json(const Identification& x, std::size_t show);
nlohmann::ordered_json proposal_json(const Proposal& proposal, const std::string& path);

}  // namespace binade
