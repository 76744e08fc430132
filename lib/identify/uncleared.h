// SPDX-License-Identifier: Apache-2.0
//
// Accumulators that a kernel did not clear between two tiles of D.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the change by which each tile of D, after some first ones, begins with what an earlier
/// tile holds, if those of `elements` (of all if there are none) that are far off differ by that
/// from their sums. None for dots, or with C. It refers to the arrays of the case.
std::vector<Change> uncleared(const KernelCase& given, std::span<const std::size_t> elements);

}  // namespace binade
