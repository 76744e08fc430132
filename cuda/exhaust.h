// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 inputs of a conversion in slices, whatever runs a slice: the GPU, or a test. Slices let
// progress be told and make a fault name its inputs.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "cuda/tally.h"
#include "lib/record/device.h"

namespace binade {

inline constexpr Count all_inputs = Count{1} << 32;
inline constexpr Count slice_inputs = Count{1} << 28;

/// The lowest differing inputs that are listed of each kind.
inline constexpr std::size_t listed_cases = 8;

/// Compares the inputs first … end - 1.
using RunSlice = std::function<Tally(Count first, Count end)>;

/// Lists the inputs of one kind from the lowest up. Each is found by a run that begins behind the one
/// before, so the list never depends on the order of threads.
inline void list_cases(const RunSlice& run, Lowest Tally::*kind, Lowest lowest,
                       std::vector<ConversionCase>& cases) {
  for (std::size_t listed = 0; listed < listed_cases && lowest.found(); ++listed) {
    cases.push_back({static_cast<std::uint32_t>(lowest.input()),
                     static_cast<std::uint32_t>(lowest.hardware),
                     static_cast<std::uint32_t>(lowest.emulated)});
    Count first = lowest.input() + 1;
    lowest = {};
    for (; first < all_inputs && !lowest.found(); first += slice_inputs) {
      lowest = run(first, std::min(first + slice_inputs, all_inputs)).*kind;
    }
  }
}

/// Fills in the counts and cases of `check`.
inline void exhaust(const RunSlice& run, const CheckProgress& progress, ConversionCheck& check) {
  Tally tally;
  for (Count first = 0; first < all_inputs; first += slice_inputs) {
    tally.merge(run(first, first + slice_inputs));
    const auto done = static_cast<double>(first + slice_inputs);
    if (progress) progress(check.instruction, done / static_cast<double>(all_inputs));
  }
  check.inputs = tally.inputs;
  check.mismatches = tally.mismatches;
  check.nan_differences = tally.nan_differences;
  check.padding = tally.padding;
  list_cases(run, &Tally::mismatch, tally.mismatch, check.cases);
  list_cases(run, &Tally::nan_difference, tally.nan_difference, check.cases);
}

}  // namespace binade
