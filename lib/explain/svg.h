// SPDX-License-Identifier: Apache-2.0
//
// One block of a sum as a picture: rows are terms, columns binary weights, a cell a bit; what the hardware
// cuts off stands right of the line. Self-contained SVG on its own light ground; the same bytes for the
// same explanation.
#pragma once

#include <string>

#include "lib/explain/explanation.h"

namespace binade {

/// The block of this number, from 1, and the chain that it stands in. Error where it has no bits to draw:
/// of integers, with a NaN or an infinity, or without a term.
std::string explanation_svg(const Explanation& x, int block);

/// The block that loses most, from 1; where none does, the first with a picture. Error where none has one.
int most_telling_block(const Explanation& x);

}  // namespace binade
