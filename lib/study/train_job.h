// SPDX-License-Identifier: Apache-2.0
//
// A training run by its settings: what sweeps are made of.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace binade {

/// Error for settings that train_job would refuse, without training: unknown keys are named with the
/// known ones. A sweep asks this of all its runs before the first.
void check_train_settings(const nlohmann::json& settings);

/// Trains once and returns the figures of the run, in a fixed order and the same for each run.
/// `data_folder`: where the committed data lie. Error where check_train_settings gives one, and where
/// data are missing.
nlohmann::ordered_json train_job(const nlohmann::json& settings, const std::string& data_folder,
                                 const std::function<void(double done)>& progress);

}  // namespace binade
