// SPDX-License-Identifier: Apache-2.0
//
// What the loss scalers that look at gradients need to know of one step, and how it is counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulate/format.h"

namespace binade {

/// Of one gradient tensor. Counts are of values; NaN and Inf are in not_finite and in nothing else.
struct TensorStatistics {
  std::uint64_t values = 0;
  std::uint64_t zeros = 0;
  std::uint64_t not_finite = 0;
  float amax = 0;  ///< largest finite magnitude
  double sum = 0;  ///< of finite values, in order
  double sum_of_squares = 0;
};

struct StepStatistics {
  bool found_inf = false;
  float amax = 0;  ///< largest finite magnitude of all tensors
  std::vector<TensorStatistics> tensors;
};

TensorStatistics statistics_of(std::span<const float> values);
StepStatistics statistics_of(std::span<const std::span<const float>> gradients);

}  // namespace binade
