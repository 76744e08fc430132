// SPDX-License-Identifier: Apache-2.0
//
// Orders of k of one operand against the other's that repeat, as where a fragment's lanes are
// mapped wrongly or its memory is swizzled.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the change by which in each run of some k each k of B meets another k of A, if least
/// squares say so; none if each meets its own.
std::vector<Change> permuted_k(const KernelCase& given);

}  // namespace binade
