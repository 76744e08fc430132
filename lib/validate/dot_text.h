// SPDX-License-Identifier: Apache-2.0
//
// How a dot product is shown: its operands in hex and value, what was recorded, what is emulated.
#pragma once

#include <string>

#include "lib/validate/dots.h"

namespace binade {

/// One row that differs, in lines: the distance, every product, c, both results.
std::string difference_text(const DotDifference& x, const Dots& dots, const Instruction& how);

}  // namespace binade
