// SPDX-License-Identifier: Apache-2.0
//
// The orders that identify tries where the usual ones (candidates.cpp) explain nothing: parts kept
// in one format and added in another, tiles shared among parts in other ways, trees over numbers of
// parts that are no powers of two, sums that begin elsewhere or go in any order, and what remains
// of K summed first. There are several times as many of them.
#pragma once

#include <vector>

#include "emulate/gemm_model.h"

namespace binade {

/// An order and the number of its differences from the plain one.
struct Order {
  Accumulation sum{};
  int departures = 0;
};

/// Returns the rare orders of a core, given in plain order, for sums of k products whose results
/// have the format `out`; none if the sums are of integers, or in
/// binary64 for narrower results.
std::vector<Order> rare_orders(const GemmModel& plain, int k, const Format& out);

}  // namespace binade
