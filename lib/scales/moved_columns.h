// SPDX-License-Identifier: Apache-2.0
//
// Columns in another order, known by the signs of their codes.
#pragma once

#include <optional>

#include "lib/scales/scale_work.h"

namespace binade {

/// Returns which column of the numbers each is by the signs of codes, if three quarters are known
/// and a quarter is in another place.
std::optional<RowsMoved> moved_columns(const ReadingWork& work);

}  // namespace binade
