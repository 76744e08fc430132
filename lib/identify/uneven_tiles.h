// SPDX-License-Identifier: Apache-2.0
//
// Stream-K: the tiles of K of all tiles of D are laid out in one row and cut evenly among the
// workers of a GPU (emulate/stream_k.h), so that K is cut elsewhere in each tile of D. Where the
// cuts lie is found for each tile by itself; then the workers and tiles that make all of these
// cuts.
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

/// Looks for stream-K in the product of one run that no model explains: for workers, tiles and
/// orders of a modest list that cut K where it was found to be cut in each tile (x.tiles), with
/// every core and ending. Adds the models that explain every bit to the result; those that cut this
/// D alike are told as the same. Returns whether there is one.
bool search_streams(Identification& x);

}  // namespace binade
