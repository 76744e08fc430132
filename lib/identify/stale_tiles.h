// SPDX-License-Identifier: Apache-2.0
//
// Tiles of K of one operand that hold an earlier tile: a buffer that was read before it was
// written.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the change by which one tile of A or of B, or each of them, holds the one up to
/// three before it, if one such change leaves little of D's distance from the exact sums. It is
/// measured on `part`, some elements of the case, and refers to the arrays of `given`.
std::vector<Change> stale_tiles(const KernelCase& given, const KernelCase& part);

}  // namespace binade
