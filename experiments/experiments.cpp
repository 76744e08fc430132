// SPDX-License-Identifier: Apache-2.0
//
// The list of questions, in reading order.
#include "experiments/experiments.h"

#include <array>

namespace binade {

std::span<const Experiment> experiments() {
  static const std::array all{boundary_atlas, underflow_band};
  return all;
}

}  // namespace binade
