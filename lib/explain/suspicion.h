// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may have done if its bits are far from the sum: mistakes that leave a trace in the
// number itself, such as stopping early, leaving out a product or adding one twice.
#pragma once

#include <string>
#include <vector>

#include "lib/explain/explanation.h"

namespace binade {

/// Returns at most three possible mistakes in words, the best match first. Returns nothing if there
/// are no bits of hardware, if they or the result are no finite number, or if they are equal or
/// differ by less than 64 ulps of the result or 64 times the error of the sum, which another
/// rounding may explain. A mistake is named if it explains all but a thousandth of the difference;
/// one in a chain of operations, if it explains all but a few errors of rounding.
std::vector<std::string> suspicions(const Explanation& x);

}  // namespace binade
