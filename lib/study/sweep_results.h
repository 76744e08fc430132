// SPDX-License-Identifier: Apache-2.0
//
// Which results of a sweep's runs are shown.
#pragma once

#include <string>
#include <vector>

namespace binade {

/// Those that were asked for; the usual ones where none was. Error for one that no run has, and for one named twice.
std::vector<std::string> chosen_results(const std::vector<std::string>& asked);

}  // namespace binade
