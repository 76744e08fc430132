// SPDX-License-Identifier: Apache-2.0
//
// An identification as text for people, and its conclusion in one word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// open: the time ended, and models agree with all that was compared.
enum class Conclusion : std::uint8_t { none, unique, several, open };

Conclusion conclusion_of(const SearchResult& result);

/// Returns the options of `binade gemm` that make the candidate's model, the instruction among
/// them.
std::string command_of(const Identification& x, const Candidate& candidate);
/// The same of a model of a core; `more` are options besides, such as "--round".
std::string command_of(const Core& core, const GemmModel& model, const std::string& more = {});

/// Returns what the time did not allow to try.
std::vector<std::string> not_tried_of(const Identification& x);

/// A rejected model, and the identification that it belongs to: its operands may be rounded.
struct NearModel {
  const Identification* of;
  const Verdict* verdict;
};

/// Returns the rejected models whose first contradiction is known, nearest first: of x and of what
/// was searched besides; at most as many as x has.
std::vector<NearModel> nearest_of(const Identification& x);

/// Returns the text, with at most `show` models. Rejected models appear if their first
/// contradiction is known.
std::string identification_text(const Identification& x, std::size_t show);

}  // namespace binade
