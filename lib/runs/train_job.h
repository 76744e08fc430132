// SPDX-License-Identifier: Apache-2.0
//
// The job of a sweep of trainings: it trains once by the settings of a run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/runs/sweep.h"

namespace binade {

/// A key of a training's result whose value is a number, a text or a truth value; in JSON a number
/// that is not finite is null.
struct TrainResultKey {
  std::string_view name;
  bool always;  ///< every result has it
  bool usual;   ///< shown unless the user chooses results
};
/// Returns the keys that a user may choose to be shown; results also have lists, and other keys in
/// another order (result_of).
std::span<const TrainResultKey> train_result_keys();

/// Returns the job. Its `check` throws Error for settings that its `run` would refuse, without
/// training; it reads each data set once and keeps it for all runs, so that they train on the data
/// whose digest `data` returns. `data_folder` is the folder of the committed data.
SweepJob train_job(const std::string& data_folder);

}  // namespace binade
