// SPDX-License-Identifier: Apache-2.0
//
// Shares as percentages for people to read.
#pragma once

#include <string>

namespace binade {

/// Returns a share of 0 to 1 as "61.1 %", "0.044 %", "1.2e-05 %" or "1e-168 %", in at most nine
/// columns. "0 %" and "100 %" stand only for exactly 0 and 1; a share that would round to 100 is
/// "> 99.9 %".
std::string percent(double share);

}  // namespace binade
