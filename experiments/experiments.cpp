// SPDX-License-Identifier: Apache-2.0
//
// The list of experiments, in the order in which they are best read.
#include "experiments/experiments.h"

#include <array>

namespace binade {

std::span<const Experiment> experiments() {
  static const std::array all{
      boundary_atlas,      underflow_band,    training_ranges,   band_ablation,
      scale_sweep,         scaler_race,       adaptive_scales,   master_weights,
      clip_order,          opt_levels,        swamping,          double_rounding,
      autoswitch_products, reduction_hazards, gradcheck_formats, claims};
  return all;
}

}  // namespace binade
