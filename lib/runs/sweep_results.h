// SPDX-License-Identifier: Apache-2.0
//
// Chooses which results of a sweep's runs are shown.
#pragma once

#include <string>
#include <vector>

namespace binade {

/// Returns the requested keys or, if none were requested, those of train_result_keys() that are
/// marked usual. Throws Error for a key that no run has and for a key that is given twice.
std::vector<std::string> chosen_results(const std::vector<std::string>& asked);

}  // namespace binade
