// SPDX-License-Identifier: Apache-2.0
//
// One row per question; each file of this folder defines one.
#pragma once

#include "lib/study/experiment.h"

namespace binade {

extern const Experiment boundary_atlas;
extern const Experiment underflow_band;

}  // namespace binade
