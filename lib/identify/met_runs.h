// SPDX-License-Identifier: Apache-2.0
//
// Runs or tiles of K whose parts met those of other ones: measured, not guessed.
#pragma once

#include <string>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes by which some parts of tiles of K, data or scales of A or B, are those of
/// other tiles, where least squares of D by all pairs of tiles say which: at most 16, of equal
/// length. They refer to the arrays of the case.
std::vector<Change> met_runs(const KernelCase& given);

/// Returns in words that the scales of each run multiply the sum of all runs up to it, as of an
/// accumulator that no promotion clears, if D lies near to that; else "".
std::string uncleared_promotion(const KernelCase& given);

}  // namespace binade
