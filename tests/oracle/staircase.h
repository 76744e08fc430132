// SPDX-License-Identifier: Apache-2.0
//
// A conversion from binary32 as a list of constants: rounding is monotone, so over the float32 bit
// patterns its result is a staircase, and the oracle needs to be asked only around the steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/oracle/oracle.h"

namespace oracle {

/// From the pattern `first` up to the next step's (the last: to 0xFFFFFFFF) the result is `outcome`.
struct Step {
  std::uint32_t first = 0;
  Outcome outcome;
};

/// All 2^32 patterns, NaNs included. Every number of the format must be a binary32 number.
std::vector<Step> staircase(const Oracle& oracle, const Rules& rules);

}  // namespace oracle
