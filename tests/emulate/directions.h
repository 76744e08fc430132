// SPDX-License-Identifier: Apache-2.0
//
// The rounding directions whose results follow from the operands alone, for tests that go through
// all of them.
#pragma once

#include <algorithm>
#include <array>

#include "emulate/attributes.h"

namespace binade::test {

/// Returns whether a row's direction draws no random words.
constexpr bool is_deterministic(const NamedRounding& row) {
  return row.rounding != Rounding::stochastic;
}

inline constexpr auto deterministic = [] {
  std::array<Rounding, std::ranges::count_if(roundings, is_deterministic)> out{};
  std::size_t n = 0;
  for (const NamedRounding& row : roundings) {
    if (is_deterministic(row)) out[n++] = row.rounding;
  }
  return out;
}();

}  // namespace binade::test
