// SPDX-License-Identifier: Apache-2.0
//
// The model that explains most of D under a change. A search on some elements finds it, and all
// elements are counted by it, bit for bit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/identify/change.h"
#include "lib/identify/identification.h"

namespace binade {

/// The model under a change that explains most, and which elements it gives. `right` is empty if no
/// model takes part.
struct TestedChange {
  Core core;
  GemmModel model{};
  std::vector<std::uint64_t> d;  ///< what it gives
  std::vector<bool> right;
  std::size_t equal = 0;
};

/// Which models take part in a test.
enum class TestedModels : std::uint8_t {
  usual,        ///< those that identify tries first, and what it added where they explain nothing
  detours,      ///< with other ways from the sum to D (detours.h)
  narrow_sums,  ///< accumulators that are narrower than those of the usual models
};

/// Finds the model under a change by some of the `eligible` elements, and counts all by it. The
/// case is the first run of `x` or a change of it.
TestedChange tested(const Identification& x, const KernelCase& given, const Change& change,
                    const std::vector<std::size_t>& eligible,
                    TestedModels which = TestedModels::usual);

/// Counts all elements by one model under a change.
TestedChange counted_by(const KernelCase& given, const Change& change, const Core& core,
                        const GemmModel& model);

}  // namespace binade
