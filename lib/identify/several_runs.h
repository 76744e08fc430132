// SPDX-License-Identifier: Apache-2.0
//
// What may have happened where a kernel ran several times, or on several groups of rows.
#pragma once

#include "lib/identify/hypotheses.h"
#include "lib/identify/identification.h"

namespace binade {

/// Returns the suspicions about the run that the nearest model gets wrong most, and before them
/// whether rows met the B of another group.
KernelHypotheses hypotheses_of_several(const Identification& x, double seconds,
                                       const SearchProgress& progress);

}  // namespace binade
