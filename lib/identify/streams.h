// SPDX-License-Identifier: Apache-2.0
//
// Stream-K: the tiles of K of all tiles of D are laid out in one row and cut evenly among the
// workers of a GPU (emulate/stream_k.h), so that K is cut elsewhere in each tile of D.
#pragma once

#include <chrono>

namespace binade {

struct Identification;

/// Looks for stream-K in the product of one run that no model explains: tries workers, tiles and
/// orders of a table on the cores of the nearest models, with all their endings. Adds the models
/// that explain every bit to the result; those that cut this D alike are told as the same. Nothing
/// is added after `end`. Returns whether there is one.
bool search_streams(Identification& x, std::chrono::steady_clock::time_point end =
                                           std::chrono::steady_clock::time_point::max());

}  // namespace binade
