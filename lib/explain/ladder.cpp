// SPDX-License-Identifier: Apache-2.0
//
// Computes which columns a block needs.
#include "lib/explain/ladder.h"

#include <algorithm>

namespace binade {

bool has_ladder(const ExplainedBlock& block) {
  return !block.is_integer && !block.special && block.highest.has_value();
}

Ladder ladder_of(const ExplainedBlock& block) {
  const ExplainedTerm& first = block.terms[static_cast<std::size_t>(block.highest.value_or(0))];
  const int raised = block.floor_decides ? block.top - first.exponent : 0;
  Ladder out{block.top, block.unit, block.unit - raised, block.unit};
  const auto widen = [&out](const ExactNumber& x) {
    if (x.is_zero()) return;
    out.highest = std::max(out.highest, x.leading_exponent());
    out.lowest = std::min(out.lowest, x.exponent);
  };
  for (const ExplainedTerm& term : block.terms) widen(term.exact);
  widen(block.sum);
  if (is_number(block.result)) widen(value_of(block.result));
  return out;
}

int last_place(const ExplainedBlock& block) {
  const Format& grid = block.grid;
  if (!is_number(block.result)) return block.unit;
  const ExactNumber value = value_of(block.result);
  const int e = value.is_zero() ? grid.emin() : value.leading_exponent();
  return std::max(e, grid.emin()) - grid.fraction_bits();
}

}  // namespace binade
