// SPDX-License-Identifier: Apache-2.0
//
// An identification in words, and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/identify/identification.h"
#include "lib/identify/propose.h"

namespace binade {

enum class Conclusion : std::uint8_t { none, unique, several };

Conclusion conclusion_of(const SearchResult& result);

/// An instruction and the options of `binade gemm` that make the model of it.
std::string command_of(const Identification& x, const Candidate& candidate);

/// `show`: so many models and so many of the rejected.
std::string identification_text(const Identification& x, std::size_t show);

/// Schema binade.identify/1.
nlohmann::ordered_json identification_json(const Identification& x, std::size_t show);
nlohmann::ordered_json proposal_json(const Proposal& proposal, const std::string& path);

}  // namespace binade
