// SPDX-License-Identifier: Apache-2.0
//
// How far two encodings of a format are from each other.
#pragma once

#include <cstdint>
#include <optional>

#include "emulate/format.h"

namespace binade {

/// Returns the distance of two encodings on the format's grid: 1 for neighbours, 0 for +0 and -0;
/// for integers the difference. Infinity follows the largest number. Returns nothing if one of the
/// two is a NaN.
std::optional<std::uint64_t> ulp_distance(std::uint64_t x, std::uint64_t y, const Format& f);

}  // namespace binade
