// SPDX-License-Identifier: Apache-2.0
//
// Writes a name, padded to 36 columns, and then the counts.
#include "lib/range/event_columns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {

std::string counts_head(std::string_view first) {
  std::string line = fmt::format("{:<36}", first);
  for (const EventColumn& c : event_columns) line += fmt::format("{:>{}}", c.title, c.width);
  return line + "\n";
}

std::string counts_line(std::string_view name, const EventCounts& counts) {
  std::string line = fmt::format("{:<36}", printable(name, 35));
  for (const EventColumn& c : event_columns)
    line += fmt::format("{:>{}}", counts.*c.count, c.width);
  return line + "\n";
}

nlohmann::ordered_json counts_json(const EventCounts& counts) {
  nlohmann::ordered_json out;
  for (const EventColumn& c : event_columns) {
    std::string key = lower_case(c.title);
    std::ranges::replace(key, ' ', '_');
    out[key] = counts.*c.count;
  }
  return out;
}

}  // namespace binade
