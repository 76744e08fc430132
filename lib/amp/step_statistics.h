// SPDX-License-Identifier: Apache-2.0
//
// Statistics of the gradients of one step, for the loss scalers that look at gradients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulate/format.h"

namespace binade {

/// Statistics of one gradient tensor. NaN and infinities are counted in `values` and not_finite and
/// are left out of everything else.
struct TensorStatistics {
  std::uint64_t values = 0;
  std::uint64_t zeros = 0;
  std::uint64_t not_finite = 0;
  float amax = 0;  ///< largest finite magnitude
  double sum = 0;  ///< sum of the finite values, added one after another
  double sum_of_squares = 0;
};

/// Statistics of all gradients of a step.
struct StepStatistics {
  bool found_inf = false;  ///< a value of some tensor is NaN or infinite
  float amax = 0;          ///< largest finite magnitude of all tensors
  std::vector<TensorStatistics> tensors;
};

TensorStatistics statistics_of(std::span<const float> values);
StepStatistics statistics_of(std::span<const std::span<const float>> gradients);

}  // namespace binade
