// SPDX-License-Identifier: Apache-2.0
//
// Sums that begin with what another tile left: accumulators that were not cleared.
#pragma once

#include <span>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes by which these elements, if they fill a rectangle of D, begin with the
/// elements as many columns before as it is wide, or as many rows before as it is high; none if
/// the case has a C.
std::vector<Change> uncleared(const KernelCase& given, std::span<const std::size_t> elements);

}  // namespace binade
