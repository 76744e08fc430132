// SPDX-License-Identifier: Apache-2.0
//
// Tiles of D whose K is cut elsewhere each, in ways that the table of stream-K (streams.h) does not
// have: where K is cut is found for each block of D by itself.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/identify/candidates.h"
#include "lib/identify/kernel_run.h"

namespace binade {

struct Identification;

/// Models of few parts of K, added in turn, of which each explains every element of some square
/// blocks of D, and which explain all blocks between them.
struct UnevenTiles {
  std::vector<Candidate> models = {};
  std::size_t columns = 0;                 ///< of blocks
  std::vector<std::size_t> of_block = {};  ///< the number of its model, row after row

  bool found() const { return !models.empty(); }
};

/// Returns them for the product of a first run. Nothing is found if some block has no such model,
/// or the first one has none of the cores that are nearest.
UnevenTiles uneven_tiles(const Identification& x);

}  // namespace binade
