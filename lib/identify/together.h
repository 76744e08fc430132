// SPDX-License-Identifier: Apache-2.0
//
// Kernels that treat their edges, or the chunks of a ring, in another way: finds few models that
// explain every element between them. This claims nothing about any one of the models, but it shows
// where a library's tiles end.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// One of the models: how many elements it explains (equal), how many of these no other part
/// explains (alone), the box in which those lie, with first and last row and column inside, and the
/// rows and columns that it explains as a whole and no other part does.
struct TogetherPart {
  std::size_t candidate = 0;
  std::size_t equal = 0, alone = 0;
  std::size_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  std::vector<std::size_t> whole_rows = {}, whole_columns = {};
};

/// Returns at most four models, the nearest first, without those that explain no element by
/// themselves; or, in the order of their rows, the sums of a ring that begin with another part in
/// each chunk of rows. Returns nothing unless there is one run and it is a product; if one model
/// explains every element, if neither a ring nor four models do, or if models could do so by
/// chance.
std::vector<TogetherPart> together(const Identification& x);

}  // namespace binade
