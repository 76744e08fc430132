// SPDX-License-Identifier: Apache-2.0
//
// Compares two reports, tensor by tensor.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Returns the JSON of a report. It is read from a JSON file, or made from a file of
/// binade.torch.watch, which has summaries without elements (run_counts.h). Throws Error if the
/// file is neither.
nlohmann::ordered_json load_report(const std::string& path);

/// What differs between two reports, as text.
struct ReportDiff {
  std::string text;
  bool different = false;
};

/// Compares options, loss scales, and which tensors are in one report only; of all tensors
/// together, the numbers of values, zeros, NaN and Inf, the smallest and largest magnitude, and the
/// shares that binary16 loses. Of each tensor it compares dtype, shape, role, the same numbers and
/// magnitudes, and the counts of each binade; of those that differ it shows the shares as well.
/// Tensors are matched by name; of several with the same name, the n-th of one report is matched
/// with the n-th of the other.
ReportDiff diff_reports(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

}  // namespace binade
