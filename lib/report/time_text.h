// SPDX-License-Identifier: Apache-2.0
//
// The time axis of a report as text for a terminal: a line for each share (to zero, subnormal, lost
// l2, NaN or Inf) and role, lines for loss scales and updates, and a column for each of at most
// twelve steps.
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
