// SPDX-License-Identifier: Apache-2.0
//
// Shares as people read them.
#pragma once

#include <string>

namespace binade {

/// "61.1 %", "0.044 %", "1.2e-05 %"; "0 %" and "100 %" only of 0 and 1 themselves.
std::string percent(double share);

}  // namespace binade
