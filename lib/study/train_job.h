// SPDX-License-Identifier: Apache-2.0
//
// A training run by its settings: what sweeps are made of.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/study/sweep.h"

namespace binade {

/// A figure that a run's result may have, as one number, text or truth value.
struct TrainResultKey {
  std::string_view name;
  bool always;  ///< every run has it
  bool usual;   ///< shown where nothing is said
};
/// In the order in which results have them.
std::span<const TrainResultKey> train_result_keys();

/// `check` refuses what `run` would, without training; it reads the data of each workload once, to see
/// that they are there and that batches fit. `data_folder`: where the committed data lie.
SweepJob train_job(const std::string& data_folder);

}  // namespace binade
