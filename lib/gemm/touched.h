// SPDX-License-Identifier: Apache-2.0
//
// Whether a product depends on rules that no hardware has shown: some of its elements are computed
// again under the rival rules that nothing has excluded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/evidence/tally.h"
#include "lib/gemm/named_gemm.h"
#include "lib/gemm/operands.h"

namespace binade {

/// Returns how many elements change under the rivals of each unsettled aspect. The elements are
/// spread over D. They are as many as let all rivals together take about 2^22 multiply-adds, but at
/// least 16 and at most all of D. No element is looked at if the model is a chain of rounded
/// operations (sm = 0, named_gemm.h), has chosen rules, or hardware has shown everything.
Touched touched_by(const NamedGemm& named, const GemmOperands& operands);

/// An element of a D that was not made by the emulator.
struct GivenElement {
  std::size_t row = 0, column = 0;
  std::uint64_t bits = 0;
};
/// Returns the names of the rivals that no hardware has excluded and under which every one of these
/// elements has the given bits.
std::vector<std::string> explaining_rivals(const NamedGemm& named, const GemmOperands& operands,
                                           std::span<const GivenElement> given);

}  // namespace binade
