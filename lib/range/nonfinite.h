// SPDX-License-Identifier: Apache-2.0
//
// Whether elements in memory hold a NaN or an infinity, on all threads where there are many.
#pragma once

#include <cstddef>
#include <span>

#include "lib/format/dtype.h"

namespace binade {

/// Returns whether any of the elements is a NaN or an infinity; false if there are none. They are
/// whole little-endian elements of a floating dtype, at any alignment.
bool any_nonfinite(std::span<const std::byte> data, const Dtype& dtype);

}  // namespace binade
