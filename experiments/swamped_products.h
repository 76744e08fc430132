// SPDX-License-Identifier: Apache-2.0
//
// The part of `swamping` that multiplies matrices: the error of Tensor Core products over K, by accumulator.
#pragma once

#include "lib/study/experiment.h"

namespace binade {

/// Mean of |error| / Σ|a·b| of positive products at the largest K, by accumulator.
struct SwampedProducts {
  double half = 0, split = 0, single = 0;  ///< f16; f16 with K in 64s; f32
  bool single_as_cut = true;               ///< below what the blocks may cut, at every K
};

std::size_t largest_k(bool quick);
SwampedProducts sweep_k(const ExperimentInput& input, Outcome& out);

}  // namespace binade
