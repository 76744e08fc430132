// SPDX-License-Identifier: Apache-2.0
//
// Counts the updates of a weight, reading both from files side by side.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/range/update_counts.h"
#include "lib/report/named_tensors.h"

namespace binade {

/// Reads weight and update side by side, once. Both must be floating-point, of the same shape and
/// the same storage order. `done` is called with the bytes of every piece, those of the weight and
/// of the update together.
UpdateCounts count_updates(const TensorPlace& weight, const TensorPlace& update,
                           const std::function<void(std::uint64_t)>& done = {});

}  // namespace binade
