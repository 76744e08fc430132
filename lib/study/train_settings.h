// SPDX-License-Identifier: Apache-2.0
//
// A training as settings in JSON and its result in JSON: what `binade sweep` and `binade train` read and
// write.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "lib/train/trainer.h"

namespace binade {

/// Keys, all optional but `workload`: workload (workload_rows); level (O0 … O3, native); format
/// (training_formats); arch ("sm_90"); accumulator (f32, f16, reference); promote_every; fprop, dgrad,
/// wgrad (instructions by name); scaler ("torch", "static:1024", …); init_scale; growth_interval;
/// skip_overflow; loss_shift; optimizer (sgd, adam, adamw); lr; momentum; weight_decay; master_weights; update (nearest,
/// stochastic, kahan); clip_norm; steps; batch; seed.
struct TrainSettings {
  std::string workload;
  std::size_t batch = 0;
  TrainingRecipe recipe{};
};

/// Error for unknown keys, values of a wrong kind, and names that there are not.
TrainSettings train_settings(const nlohmann::json& settings);

/// Losses, accuracy, skips, lost updates; nothing that depends on time or machine.
nlohmann::ordered_json result_of(const TrainingLog& log);

}  // namespace binade
