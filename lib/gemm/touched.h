// SPDX-License-Identifier: Apache-2.0
//
// Whether a product hangs on rules that no hardware has shown: elements under the rivals of what is open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/evidence/tally.h"
#include "lib/gemm/named_gemm.h"
#include "lib/gemm/operands.h"

namespace binade {

/// Elements are taken from all of D, as many as some 2^22 products make, 16 at least. None are looked at of a chain,
/// under chosen rules, and where hardware has shown everything.
Touched touched_by(const NamedGemm& named, const GemmOperands& operands);

/// An element that somebody else gives.
struct GivenElement {
  std::size_t row = 0, column = 0;
  std::uint64_t bits = 0;
};
/// Rivals that no hardware has excluded and that give every one of these elements.
std::vector<std::string> explaining_rivals(const NamedGemm& named, const GemmOperands& operands,
                                           std::span<const GivenElement> given);

}  // namespace binade
