// SPDX-License-Identifier: Apache-2.0
//
// Suspicions of scales that are a rule's, but for one change: reciprocals, a factor, the scales of
// other blocks, those for another element format.
#pragma once

#include <cstdint>
#include <span>

#include "lib/scales/kept_scales.h"

namespace binade {

/// Tries all changes of the scales that the rule of `x` makes.
void try_scale_changes(const KeptScales& kept, const ReadingWork& work, const SuspectedScales& x,
                       std::span<const std::uint32_t> made, const StoredScales& stored);

}  // namespace binade
