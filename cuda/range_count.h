// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h on the current GPU: the same integers.
#pragma once

#include <cstddef>
#include <span>

#include "emulate/range_count.h"

namespace binade {

struct RangeWords;

/// Starts it on n floats of the device; adds to `words`, there too, which `clear_range_words` made.
void launch_range_count(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                        RangeWords* words);
void clear_range_words(RangeWords* words);

/// Adds floats of the host to a block that was reset; at most its `capacity` between two resets.
void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block);

}  // namespace binade
