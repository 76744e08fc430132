// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of data movement: a matrix that was read or written at other places than its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes by which those of `elements` (of all if there are none) that are far from
/// the exact sums come near to them: blocks transposed as by a load of fragments without its
/// transposition, another stride between rows, and chunks permuted by row as in swizzled shared
/// memory. Each was tried on a few elements alone. None for dots. They refer to the arrays of the
/// case.
std::vector<Change> moved_data(const KernelCase& given, std::span<const std::size_t> elements);

}  // namespace binade
