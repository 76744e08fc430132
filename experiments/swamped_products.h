// SPDX-License-Identifier: Apache-2.0
//
// The part of the experiment `swamping` that multiplies matrices: the error of Tensor Core products
// as K grows, for different accumulators.
#pragma once

#include "lib/runs/experiment.h"

namespace binade {

/// The mean of |error| / Σ|a·b| at the largest K, for operands that are positive.
struct SwampedProducts {
  /// The accumulator f16; f16 with K in chunks of 64; f32.
  double half = 0, split = 0, single = 0;
  bool single_as_cut = true;  ///< at every K f32's error is below what the blocks may cut off
};

/// Returns the largest K of the sweep.
std::size_t largest_k(bool quick);
/// Measures the errors for growing K; adds tables, plots and data to `out`.
SwampedProducts sweep_k(const ExperimentInput& input, Outcome& out);

}  // namespace binade
