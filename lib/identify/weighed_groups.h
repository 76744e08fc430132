// SPDX-License-Identifier: Apache-2.0
//
// Runs of K whose sums were multiplied by factors of their own before they were added.
#pragma once

#include <functional>
#include <optional>

#include "lib/identify/change.h"
#include "lib/identify/hypotheses.h"

namespace binade {

/// Returns how many elements are sums of runs of K with factors, if D is nearly that: each run
/// summed by a core of the identification, then multiplied and added in binary32, or by a fused
/// multiply-add.
std::optional<KernelHypothesis> weighed_groups(const Identification& x, const KernelCase& given,
                                               const std::function<bool()>& in_time);

}  // namespace binade
