// SPDX-License-Identifier: Apache-2.0
//
// Mistakes under which one model, which is known, gives more of D: the table of changes that
// identify() tries (change.h), without a search of models.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// A mistake, and how many of the elements that were tried are equal under it; none were tried where
/// they lie near to it alone.
struct KnownModelHint {
  std::string words;
  std::size_t equal = 0, tried = 0;
};

/// Returns at most three mistakes that make at least half of the elements equal that are tried, and
/// more than without one, the best first; of several that do so much, the simplest. Each is counted
/// bit for bit by the model. A mistake in some elements alone, where the model gives the others, stands
/// before these. Nothing for dots, for integers that are scaled and behind a smooth
/// activation.
std::vector<KnownModelHint> known_model_hints(const KernelCase& given, const GemmModel& model);

}  // namespace binade
