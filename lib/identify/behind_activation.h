// SPDX-License-Identifier: Apache-2.0
//
// Elements that are what a smooth activation gives of the sums, in a D so wide that its bits depend
// on the steps of the formula, or with the addends behind the activation.
#pragma once

#include <string>

#include "lib/identify/change.h"
#include "lib/identify/change_fit.h"

namespace binade {

/// Returns the activation and its place behind which most of D lies within rounding, with how many
/// of some elements do and how far they are from the exact one; empty if there is none.
std::string behind_activation_words(const KernelCase& given, const NearSums& sums);

}  // namespace binade
