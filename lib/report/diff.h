// SPDX-License-Identifier: Apache-2.0
//
// Two reports side by side: what changed from one to the other, tensor by tensor.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// A report read back from its JSON file, or that of a counted run. Error if it is neither.
nlohmann::ordered_json load_report(const std::string& path);

struct ReportDiff {
  std::string text;
  bool different = false;
};

/// Compares by file position and name: shares in binary16, loss scales, tensors on one side only.
ReportDiff diff_reports(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

}  // namespace binade
