// SPDX-License-Identifier: Apache-2.0
//
// The JSON of reports that were made in memory, as text and parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/report/json.h"

namespace binade::test {

/// Returns a report's JSON, with these tensors.
inline std::string json_text(const Report& report, const std::vector<TensorReport>& tensors) {
  JsonTensors lines;
  for (const TensorReport& tensor : tensors) lines.add(tensor_json(tensor, report.options));
  std::string out;
  write_json(report, lines, [&out](std::string_view text) { out += text; });
  return out;
}

/// Returns the JSON of a report that holds all its tensors.
inline std::string json_text(const Report& report) { return json_text(report, report.tensors); }
inline nlohmann::ordered_json to_json(const Report& report) {
  return nlohmann::ordered_json::parse(json_text(report));
}

}  // namespace binade::test
