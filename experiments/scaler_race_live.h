// SPDX-License-Identifier: Apache-2.0
//
// The part of `scaler_race` that trains: one small network under every policy, with gradients that need a
// loss scale.
#pragma once

#include <string>

#include "lib/study/experiment.h"

namespace binade {

/// Adds tables, plots and data["trainings"].
struct LiveRace {
  bool as_expected = false;
  std::string verdict;  ///< a clause, without a full stop
};

LiveRace race_on_trainings(const ExperimentInput& input, Outcome& out);

}  // namespace binade
