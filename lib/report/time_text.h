// SPDX-License-Identifier: Apache-2.0
//
// The time axis of a report for a terminal: a line per question and role, a column per step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/report/time.h"

namespace binade {

/// Of n steps at most `most` (at least 2): the first, the last, and others evenly between.
std::vector<std::size_t> chosen_steps(std::size_t n, std::size_t most);

std::string time_text(const TimeReport& time, bool color);

}  // namespace binade
