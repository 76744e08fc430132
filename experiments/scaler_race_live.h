// SPDX-License-Identifier: Apache-2.0
//
// The part of `scaler_race` that trains: one small network under every policy, with gradients that need a
// loss scale.
#pragma once

#include <string>

#include "lib/study/experiment.h"

namespace binade {

struct LiveRace {
  MeasuredFigures measured;  ///< of the hypothesis of scaler_race
  std::string verdict;       ///< a clause, without a full stop
};

/// Adds tables, plots and data["trainings"].
LiveRace race_on_trainings(const ExperimentInput& input, Outcome& out);

}  // namespace binade
