// SPDX-License-Identifier: Apache-2.0
//
// One block of a sum as lines for a terminal: operands and products, then their bits under each
// other.
#pragma once

#include <string>

#include "lib/explain/explanation.h"

namespace binade {

/// Returns lines that are indented by two columns and at most 100 columns wide.
std::string block_text(const ExplainedBlock& block, bool color);

}  // namespace binade
