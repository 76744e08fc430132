// SPDX-License-Identifier: Apache-2.0
//
// The orders in which loops of CPU libraries add: NumPy's sum and einsum, torch.sum, and the dot
// products and blocks of K of OpenBLAS.
#pragma once

#include <vector>

#include "lib/identify/rare_orders.h"

namespace binade {

/// Returns the loops of a core that multiplies one product at a time, given in plain order, for
/// sums of k products.
std::vector<Order> library_loops(const GemmModel& plain, int k);

}  // namespace binade
