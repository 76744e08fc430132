// SPDX-License-Identifier: Apache-2.0
//
// Rows, or columns, of D that are each scaled by a factor of their own, as by scales that the
// product was not told of.
#pragma once

#include <functional>
#include <optional>

#include "lib/identify/change_fit.h"
#include "lib/identify/hypotheses.h"

namespace binade {

/// Returns what such factors make equal, if D has them; nothing for dots, for integers, and where C
/// or a bias is added. A model that is not begun before `in_time` returns false is not tried.
std::optional<KernelHypothesis> scaled_lines(const Identification& x, const KernelCase& given,
                                             const NearSums& sums, bool rows,
                                             const std::function<bool()>& in_time);

}  // namespace binade
