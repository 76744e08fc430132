// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may have done where its bits are far from the sum: mistakes that leave a trace in the
// number itself, as stopping early, leaving out a product or taking one twice.
#pragma once

#include <string>
#include <vector>

#include "lib/explain/explanation.h"

namespace binade {

/// In words, nearest first; nothing where the hardware's bits are equal, no number, or near enough to be
/// another rounding. A mistake is named where it explains all but a thousandth of the difference.
std::vector<std::string> suspicions(const Explanation& x);

}  // namespace binade
