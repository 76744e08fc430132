// SPDX-License-Identifier: Apache-2.0
//
// JSON values as the text that the program writes.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Returns a value as JSON, in one line if `indent` is -1, else with so many spaces for each level.
/// Bytes of texts that are not UTF-8 become U+FFFD, and characters that must not reach a terminal
/// (printable_character() in error.h) are written as \uNNNN, or as a pair of these, so that their
/// value stays.
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace binade
