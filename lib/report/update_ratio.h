// SPDX-License-Identifier: Apache-2.0
//
// A weight and its update in files, read side by side.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/range/update_counts.h"
#include "lib/report/named_tensors.h"

namespace binade {

/// Reads weight and update side by side, once. Both are floating, of one shape and one storage
/// order. `done` is told the bytes of every piece.
UpdateCounts count_updates(const TensorPlace& weight, const TensorPlace& update,
                           const std::function<void(std::uint64_t)>& done = {});

}  // namespace binade
