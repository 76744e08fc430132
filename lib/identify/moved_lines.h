// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that hold those of other places.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns a change for the rows, and one for the columns, if most of them are found and some of
/// them at another place; none for dots.
std::vector<Change> moved_lines(const KernelCase& given);

}  // namespace binade
