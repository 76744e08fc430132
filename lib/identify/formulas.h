// SPDX-License-Identifier: Apache-2.0
//
// Elements that are what a formula gives of the sums, by numbers alone: an activation that no model
// has or whose steps decide the bits, addends behind it, parts of K that are cut off at 0, sums of
// bytes that saturate, a softmax, and addends that were not given.
#pragma once

#include <string>

#include "lib/identify/change.h"
#include "lib/identify/change_fit.h"

namespace binade {

/// Returns the formula by which most of D lies within rounding, with how many of some elements do
/// and how far they are from the exact one; empty if there is none.
std::string formula_words(const KernelCase& given, const NearSums& sums);

}  // namespace binade
