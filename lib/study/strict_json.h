// SPDX-License-Identifier: Apache-2.0
//
// JSON that is taken whole or not at all: what a person wrote, or a file that may be hostile.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// The JSON of the text, keys in the order written. Error for what is none, for a key that an object has
/// twice (nlohmann alone would keep the last), and for more than 16 levels (copying, comparing and writing
/// a value recurse). `label` names the text in errors.
nlohmann::ordered_json parse_strictly(const std::string& label, std::string_view text);

}  // namespace binade
