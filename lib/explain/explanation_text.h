// SPDX-License-Identifier: Apache-2.0
//
// An explanation for a terminal, at most 100 columns wide: the products, each block's bits under
// each other with the line below which they are cut, every rounding, and where the error comes
// from.
#pragma once

#include <optional>
#include <string>

#include "lib/explain/explanation.h"

namespace binade {

struct ExplanationStyle {
  bool color = false;
  bool all = false;  ///< every block in full; if false, long sums have one line for each block
  std::optional<int> block = {};  ///< number of a block to show in full, counted from 1
};

/// Returns the explanation as text. Throws Error if there is no block of the requested number.
std::string explanation_text(const Explanation& x, const ExplanationStyle& style = {});

/// Returns a line with the error of the result, and one for each cause that has a part in the sum's
/// error, with what its steps added; "" if neither exact value is known.
std::string errors_text(const Explanation& x);

/// Returns the blocks of an explanation, in order.
std::vector<const ExplainedBlock*> blocks_of(const Explanation& x);
/// Returns block number `number`, counted from 1. Throws Error if there is none of that number.
const ExplainedBlock& block_of(const Explanation& x, int number);

}  // namespace binade
