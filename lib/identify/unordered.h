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

/// K in so many runs, summed by a core. Of `tried` elements some order gives all. `others` of them
/// have a number beside them that would be as likely otherwise, of which some order gives `beside`:
/// this says how much that is worth. In binary32 it is the upper neighbour; in a narrower format,
/// of elements that are not the exact sum, rounded, the number as far off on its other side.
struct UnorderedParts {
  std::size_t core = 0;
  int parts = 0;
  Format part{};  ///< of the parts; they are added in D's
  std::size_t tried = 0, others = 0, beside = 0;
};

/// Returns the fewest parts, 3 to 9, for which some order gives each of some elements, and few of
/// the others. The parts are rounded to D's format, and added in it. Nothing for D of another
/// format than binary32, binary16 and bfloat16, with addends, or after `end`. `exact` are the sums.
std::optional<UnorderedParts> unordered_parts(const KernelCase& x, const std::vector<double>& exact,
                                              const std::vector<Core>& cores,
                                              std::chrono::steady_clock::time_point end);

}  // namespace binade
