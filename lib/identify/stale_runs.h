// SPDX-License-Identifier: Apache-2.0
//
// Runs of K under scales of blocks that a kernel left out, or whose operands it read again in the
// place of the next ones, as from a stage of shared memory that was not filled yet.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns these changes, which refer to the case's arrays: one run is left out, or A, B or both of
/// it are those of a run before it, under its own scales or under those of the other. None without
/// such scales.
std::vector<Change> stale_runs(const KernelCase& given);

}  // namespace binade
