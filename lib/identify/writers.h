// SPDX-License-Identifier: Apache-2.0
//
// Writes an identification as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/identify/identification.h"
#include "lib/identify/propose.h"

namespace binade {

enum class Conclusion : std::uint8_t { none, unique, several };

Conclusion conclusion_of(const SearchResult& result);

/// Returns the options of `binade gemm` that make the candidate's model, the instruction among
/// them.
std::string command_of(const Identification& x, const Candidate& candidate);

/// Returns the text, with at most `show` models. Rejected models appear if their first
/// contradiction is known.
std::string identification_text(const Identification& x, std::size_t show);

/// Returns the JSON of schema binade.identify/1, with at most `show` models.
nlohmann::ordered_json identification_json(const Identification& x, std::size_t show);
nlohmann::ordered_json proposal_json(const Proposal& proposal, const std::string& path);

}  // namespace binade
