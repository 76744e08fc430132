// SPDX-License-Identifier: Apache-2.0
//
// The part of the experiment `scaler_race` that trains: a small network under every loss scale
// policy, with gradients that need a loss scale.
#pragma once

#include <string>

#include "lib/runs/experiment.h"

namespace binade {

struct LiveRace {
  MeasuredFigures measured;  ///< figures that the hypothesis of scaler_race states
  std::string verdict;       ///< a clause, without a full stop
};

/// Runs the trainings; adds tables, plots, data["trainings"] and the accuracies of binary32 as
/// data["binary32_accuracy"] and data["binary32_mean_accuracy"] to `out`. Quick runs train under
/// few policies only.
LiveRace race_on_trainings(const ExperimentInput& input, Outcome& out);

}  // namespace binade
