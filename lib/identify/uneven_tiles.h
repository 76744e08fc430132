// SPDX-License-Identifier: Apache-2.0
//
// Stream-K: the tiles of K of all tiles of D are laid out in one row and cut evenly among the
// workers of a GPU, so that K is cut elsewhere in each tile of D, as here for 3 tiles of D with 4
// tiles of K each, and 5 workers. Where the cuts lie is found for each tile by itself.
//
//     tile of D   0 0 0 0 1 1 1 1 2 2 2 2
//     worker      0 0 0 1 1 1 2 2 3 3 4 4        K is cut at 3, at 2, at 2
#pragma once

#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// Returns models of few parts of K, added in turn, of which each explains every element of some
/// square blocks of D, and which explain all blocks between them. Nothing if some block has no such
/// model, or the first one has none of the cores that are nearest; D is the product of one run.
std::vector<Candidate> uneven_tiles(const Identification& x);

}  // namespace binade
