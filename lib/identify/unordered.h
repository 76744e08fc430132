// SPDX-License-Identifier: Apache-2.0
//
// Sums whose parts of K were added in an order of its own for each element, as atomic additions
// are: whether some order gives each of some elements.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "lib/identify/change.h"
#include "lib/identify/cores.h"

namespace binade {

/// K in so many runs, summed by a core. Of `tried` elements some order gives all; of their upper
/// neighbours it gives `beside`, which says how much that is worth.
struct UnorderedParts {
  std::size_t core = 0;
  int parts = 0;
  std::size_t tried = 0, beside = 0;
};

/// Returns the fewest parts, 3 to 9, for which some order gives each of some elements, and few of
/// their neighbours. Nothing for D of another format than binary32, with addends, or after `end`.
std::optional<UnorderedParts> unordered_parts(const KernelCase& x, const std::vector<Core>& cores,
                                              std::chrono::steady_clock::time_point end);

}  // namespace binade
