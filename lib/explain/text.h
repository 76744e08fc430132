// SPDX-License-Identifier: Apache-2.0
//
// An explanation for a terminal, at most 100 columns wide: the products, each block's bits under each
// other with the line below which they are cut, every rounding, and where the error came from.
#pragma once

#include <optional>
#include <string>

#include "lib/explain/explanation.h"

namespace binade {

struct ExplanationStyle {
  bool color = false;
  bool all = false;               ///< every block in full; else a line each where there are many
  std::optional<int> block = {};  ///< this one in full, from 1
};

/// Error where the block that is asked for is not there.
std::string explanation_text(const Explanation& x, const ExplanationStyle& style = {});

/// One line a cause: what the steps lost; "" where nothing can be said.
std::string errors_text(const Explanation& x);

/// Blocks of an explanation, in order.
std::vector<const ExplainedBlock*> blocks_of(const Explanation& x);
/// One of them, from 1. Error where there is none of that number.
const ExplainedBlock& block_of(const Explanation& x, int number);

}  // namespace binade
