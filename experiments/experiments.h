// SPDX-License-Identifier: Apache-2.0
//
// The experiments. Each is defined in the source file of this folder that has its name.
#pragma once

#include "lib/study/experiment.h"

namespace binade {

extern const Experiment adaptive_scales;
extern const Experiment autoswitch_products;
extern const Experiment band_ablation;
extern const Experiment boundary_atlas;
extern const Experiment claims;
extern const Experiment clip_order;
extern const Experiment double_rounding;
extern const Experiment gradcheck_formats;
extern const Experiment master_weights;
extern const Experiment opt_levels;
extern const Experiment reduction_hazards;
extern const Experiment scale_sweep;
extern const Experiment scaler_race;
extern const Experiment swamping;
extern const Experiment training_ranges;
extern const Experiment underflow_band;

}  // namespace binade
