// SPDX-License-Identifier: Apache-2.0
//
// Strict parsing of JSON: the checks run in a callback of the parser, which stops before a value
// that is nested too deep is built.
#include "lib/runs/strict_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/error.h"

namespace binade {
namespace {

/// "line 3, column 14" for the offset of a byte, which may be the end of the text. Columns count
/// bytes.
std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, before.size() - begin + 1);
}

/// What stands at the offset.
std::string found_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the text ends";
  const std::string_view rest = text.substr(offset);
  return fmt::format(
      "'{}'", printable(rest.substr(0, std::max<std::size_t>(printable_character(rest), 1))));
}

}  // namespace

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
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;  // that of the last byte read
    throw error_in(label,
                   fmt::format("no JSON: {} at {}", found_at(text, offset), place_in(text, offset)),
                   "correct it there, or just before");
  } catch (const nlohmann::json::out_of_range&) {
    throw error_in(label, "a number beyond binary64's range", "write it smaller");
  }
}

}  // namespace binade
