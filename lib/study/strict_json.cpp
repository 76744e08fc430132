// SPDX-License-Identifier: Apache-2.0
//
// Strict parsing of JSON: the checks run in a callback of the parser, which stops before a value
// that is nested too deep is built.
#include "lib/study/strict_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <vector>

#include "lib/text/error.h"

namespace binade {

nlohmann::ordered_json parse_strictly(const std::string& label, std::string_view text) {
  using nlohmann::ordered_json;
  using Event = ordered_json::parse_event_t;
  constexpr int deepest = 16;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Event event, ordered_json& parsed) {
    if (depth > deepest) {
      throw error_in(label, "nested too deeply",
                     fmt::format("at most {} levels are read: write it flatter", deepest));
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw error_in(label,
                     fmt::format("key '{}' is there twice", printable(parsed.get<std::string>())),
                     "give it once");
    }
    return true;
  };
  try {
    return ordered_json::parse(text, check);
  } catch (const nlohmann::json::exception& error) {
    throw error_in(label, "no JSON: " + printable(error.what()), "correct it");
  }
}

}  // namespace binade
