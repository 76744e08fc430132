// SPDX-License-Identifier: Apache-2.0
//
// One block of a sum as lines of a terminal: operands and products, then their bits under each other.
#pragma once

#include <string>

#include "lib/explain/explanation.h"

namespace binade {

/// Lines indented by two columns, at most 100 wide.
std::string block_text(const ExplainedBlock& block, bool color);

}  // namespace binade
