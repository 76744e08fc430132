// SPDX-License-Identifier: Apache-2.0
//
// A training as settings in JSON and its result in JSON: what `binade sweep` and `binade train` read and
// write.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/train/trainer.h"

namespace binade {

/// Keys, all optional but `workload`: workload (workload_rows); level (O0 … O3, native, half); format
/// (training_formats); arch ("sm_90"); accumulator (f32, f16, reference); promote_every; attention (attentions); autoswitch;
/// autoswitch_underflow; autoswitch_mse; fprop, dgrad,
/// wgrad (instructions by name); scaler (step_scaler_names) and its parameters (scaler_parameters);
/// skip_overflow; loss_shift; optimizer (optimizers()); lr; momentum; weight_decay; master_weights; update (nearest,
/// stochastic, kahan); clip_norm; steps; batch; seed.
struct TrainSettings {
  std::string workload;
  std::size_t batch = 0;
  TrainingRecipe recipe{};
};

/// Error for unknown keys, values of a wrong kind, names that there are not, settings that contradict
/// each other, and those that another one leaves without effect.
TrainSettings train_settings(const nlohmann::json& settings);

/// What a training with these settings runs with, defaults included, by key; of a scaler's parameters those that
/// were given.
nlohmann::ordered_json effective_settings(const TrainSettings& settings);

/// The value that words on a command line are for this key: a number in any plain spelling (007, .1, 1e1)
/// where the key takes one, true or false, else the words as they are. Error for an unknown key.
nlohmann::json setting_value(std::string_view key, std::string_view words);

/// FP8 products that autoswitch ran in BF16.
std::uint64_t switched_of(const TrainingLog& log);

/// train_result_keys and multiply_adds: losses, accuracy, skips, lost updates; nothing that depends on time or machine.
nlohmann::ordered_json result_of(const TrainingLog& log);

}  // namespace binade
