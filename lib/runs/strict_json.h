// SPDX-License-Identifier: Apache-2.0
//
// Parses JSON strictly: text that a person wrote, or a file that may be hostile, is accepted whole
// or refused.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Parses the text; keys keep the order in which they are written. Throws Error if the text is not
/// JSON, if an object has a key twice (nlohmann alone would keep the last), and for more than 16
/// levels of nesting (copying, comparing and writing a value recurse). `label` names the text in
/// errors.
nlohmann::ordered_json parse_strictly(const std::string& label, std::string_view text);

}  // namespace binade
