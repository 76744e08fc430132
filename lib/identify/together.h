// SPDX-License-Identifier: Apache-2.0
//
// Kernels that treat their edges, the chunks of a ring or the tiles of stream-K in another way:
// finds models that explain every element between them. Of few models of edges this claims nothing
// about any one, but it shows where a library's tiles end.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// One of the models: how many elements it explains (equal), those of them that no other part
/// explains (alone), the box in which these lie, with first and last row and column inside, and the
/// rows and columns that it explains as a whole and no other part does.
struct TogetherPart {
  Candidate candidate{};
  std::size_t equal = 0;
  std::vector<std::size_t> alone = {};
  std::size_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  std::vector<std::size_t> whole_rows = {}, whole_columns = {};
  std::vector<std::size_t> whole_tiles = {};  ///< the same of tiles, by their first elements
};

/// The models, and the elements that none of them explains: so few that many models would, or that
/// are wrong.
struct Together {
  std::vector<TogetherPart> parts = {};
  /// Rows and columns of the largest tiles each of which one model explains as a whole; 0: of none.
  std::size_t tile_rows = 0, tile_columns = 0;
  std::vector<std::size_t> undecided = {};
};

/// Returns at most four models, the nearest first, without those that explain no element by
/// themselves; or, in the order of their rows, the sums of a ring that begin with another part in
/// each chunk of rows, or those of tiles of D whose K is cut elsewhere each (uneven_tiles.h).
/// Returns nothing unless there is one run and it is a product; if one model explains every
/// element, if none of these explain it, or if models could do so by chance.
Together together(const Identification& x);

}  // namespace binade
