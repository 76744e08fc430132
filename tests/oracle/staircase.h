// SPDX-License-Identifier: Apache-2.0
//
// A conversion from binary32 as a list of constants. Rounding is monotone, so over the bit patterns
// of binary32 its result is a staircase, and the oracle has to compute only results around the
// steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/oracle/oracle.h"

namespace oracle {

/// The result `outcome` of all patterns from `first` up to the next step's, or for the last step up
/// to 0xFFFFFFFF.
struct Step {
  std::uint32_t first = 0;
  Outcome outcome;
};

/// Returns the steps of all 2^32 patterns, NaNs included. Every number of the format must be a
/// binary32 number.
std::vector<Step> staircase(const Oracle& oracle, const Rules& rules);

}  // namespace oracle
