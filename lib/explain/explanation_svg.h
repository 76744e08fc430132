// SPDX-License-Identifier: Apache-2.0
//
// One block of a sum as a picture: rows are terms, columns are binary weights, and a cell is a bit;
// what the hardware cuts off stands right of the line. The SVG file is self-contained, with a light
// background. Equal explanations give equal bytes.
#pragma once

#include <string>

#include "lib/explain/explanation.h"

namespace binade {

/// Returns the picture of block number `block`, counted from 1, and of the chain that it is part
/// of. Throws Error if there is no such block, or if it has no bits to draw: it is one of integers,
/// holds a NaN or an infinity, or all its terms are zero.
std::string explanation_svg(const Explanation& x, int block);

/// Returns the number of the block that loses most, counted from 1; if none loses anything, the
/// first one with a picture. Throws Error if none has a picture.
int block_that_loses_most(const Explanation& x);

}  // namespace binade
