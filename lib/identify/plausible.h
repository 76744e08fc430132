// SPDX-License-Identifier: Apache-2.0
//
// Which changes bring D nearer to the exact sums, judged by numbers on a sample.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/identify/change.h"
#include "lib/identify/change_fit.h"

namespace binade {

struct PlausibleChange {
  Change change;
  ChangeFit fit{};
  std::vector<Change> same = {};  ///< others that fit as well to the last bit
};

struct PlausibleChanges {
  std::size_t tried = 0;                      ///< how many changes there are for the case
  ChangeFit before{};                         ///< of the case as it is
  std::vector<PlausibleChange> nearest = {};  ///< the nearest first
};

/// Returns the changes that bring a case nearer; they refer to its arrays. `has_models` says
/// whether any model takes the types of the case as it is.
PlausibleChanges plausible_changes(const KernelCase& given, bool has_models = true);

/// Returns every change that is tried for a case: the usual ones, and those that are measured.
std::vector<Change> all_changes(const KernelCase& given);

}  // namespace binade
