// SPDX-License-Identifier: Apache-2.0
//
// Compares two reports, tensor by tensor.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Returns the JSON of a report that is read from a JSON file, or made from the file of a counted
/// run. Throws Error if the file is neither.
nlohmann::ordered_json load_report(const std::string& path);

/// What differs between two reports, as text.
struct ReportDiff {
  std::string text;
  bool different = false;
};

/// Compares shares in binary16, loss scales, and which tensors are in one report only. Tensors are
/// matched by name; of several with the same name, the n-th of one report is matched with the n-th
/// of the other.
ReportDiff diff_reports(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

}  // namespace binade
