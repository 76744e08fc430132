// SPDX-License-Identifier: Apache-2.0
//
// What a converter does, in words and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/identify/conversion_search.h"

namespace binade {

/// Returns the text that `binade check` prints; `show` limits the rules and the elements in each
/// list.
std::string finding_text(const ConversionFinding& x, const Converted& given, std::size_t show);
/// Returns the document binade.check/1.
nlohmann::ordered_json finding_json(const ConversionFinding& x, const Converted& given,
                                    std::size_t show);

/// Returns "none", "unique" or "several".
std::string_view conclusion_name(ConversionConclusion conclusion);

/// Returns an element's input between its neighbours in the format of the codes, the expected and
/// the found code: "1.0625 (3F880000), halfway between 1 (38) and 1.125 (39): expected 38, found
/// 39".
std::string difference_text(const CodeDifference& x, const Converted& given);

/// Returns the options of `binade quantize` that convert finite numbers so; empty if it has none.
std::string quantize_options(const Conversion& how);

}  // namespace binade
