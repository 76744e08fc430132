// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may have done if its bits are far from the sum: mistakes that leave a trace in the
// number itself, such as stopping early, leaving out a product or adding one twice.
#pragma once

#include <string>
#include <vector>

#include "lib/explain/explanation.h"

namespace binade {

/// Returns at most three possible mistakes in words, the best match first. Returns nothing if the
/// hardware's bits are equal, no number, or near enough to be another rounding. A mistake is named if it
/// explains all but a thousandth of the difference.
std::vector<std::string> suspicions(const Explanation& x);

}  // namespace binade
