// SPDX-License-Identifier: Apache-2.0
//
// Shows a dot product: its operands in hexadecimal and as values, the recorded result and the
// emulated one.
#pragma once

#include <string>

#include "lib/validate/dots.h"

namespace binade {

/// Returns a row that differs, in lines: the distance of the results in ulps, the products (of
/// those of +0 and +0 at the end only how many), the scales of blocks, c, and both results.
std::string difference_text(const DotDifference& x, const Dots& dots, const Instruction& how);

}  // namespace binade
