// SPDX-License-Identifier: Apache-2.0
//
// Which changes bring D nearer to the exact sums, judged by numbers on a sample.
#pragma once

#include <cstddef>
#include <span>
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

/// Whether a change brings D nearer than another one. Distances that differ little are the same;
/// then the share of equal elements decides.
bool is_nearer_fit(const ChangeFit& x, const ChangeFit& y);

/// Returns the changes that bring a case nearer; they refer to its arrays. `has_models` says
/// whether any model takes the types of the case as it is.
PlausibleChanges plausible_changes(const KernelCase& given, bool has_models = true);

/// Returns the changes that are tried for some elements of a case, or for all of them if none are
/// given: the usual ones, and those that are measured on `part`, a smaller case of them. They refer
/// to the arrays of `given`, and if there are elements to those of `part`.
std::vector<Change> changes_in(const KernelCase& given, const KernelCase& part,
                               std::span<const std::size_t> elements);

}  // namespace binade
