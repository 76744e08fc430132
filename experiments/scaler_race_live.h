// SPDX-License-Identifier: Apache-2.0
//
// The part of the experiment `scaler_race` that trains: a small network under every loss scale policy, with gradients
// that need a loss scale.
#pragma once

#include <string>

#include "lib/study/experiment.h"

namespace binade {

struct LiveRace {
  MeasuredFigures measured;  ///< figures that the hypothesis of scaler_race states
  std::string verdict;       ///< a clause, without a full stop
};

/// Runs the trainings; adds tables, plots and data["trainings"] to `out`.
LiveRace race_on_trainings(const ExperimentInput& input, Outcome& out);

}  // namespace binade
