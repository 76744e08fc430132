// SPDX-License-Identifier: Apache-2.0
//
// Bits that were taken for those of another type, by the kernel or by who saved its D.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes that read A, B or D as another type of their width, as narrower numbers, or
/// with swapped bytes.
std::vector<Change> misread_changes(const KernelCase& given);

}  // namespace binade
