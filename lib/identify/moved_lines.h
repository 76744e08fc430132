// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that hold those of other places.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns changes for the rows, and for the columns, if most of them are found and some of them at
/// another place: as a whole, or of operands with scales without these, or these alone. None for
/// dots.
std::vector<Change> moved_lines(const KernelCase& given);

}  // namespace binade
