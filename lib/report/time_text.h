// SPDX-License-Identifier: Apache-2.0
//
// The time axis of a report as text for a terminal: a line per question and role, a column per
// step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/report/time.h"

namespace binade {

/// Returns at most `most` (at least 2) indices of n steps: the first, the last, and others evenly
/// between them.
std::vector<std::size_t> chosen_steps(std::size_t n, std::size_t most);

std::string time_text(const TimeReport& time, bool color);

}  // namespace binade
