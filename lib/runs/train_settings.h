// SPDX-License-Identifier: Apache-2.0
//
// Reads the settings of a training from JSON and writes its result as JSON, for `binade sweep` and
// `binade train`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/train/trainer.h"

namespace binade {

/// Settings of a training. Its JSON has these keys, all optional but `workload`, with the table or
/// the values in parentheses: workload (workload_rows()); level (O0 … O3, native, half); format
/// (training_formats); arch ("sm_90"); accumulator (f32, f16, reference); promote_every; attention
/// (attentions); autoswitch; autoswitch_underflow; autoswitch_mse; fprop, dgrad, wgrad
/// (instructions by name); scaler (step_scaler_names) and its parameters (scaler_parameters);
/// skip_overflow; loss_shift; optimizer (optimizers()); lr; momentum; weight_decay; master_weights;
/// update (nearest, stochastic, kahan); clip_norm; steps; batch; seed.
struct TrainSettings {
  std::string workload;
  std::size_t batch = 0;  ///< rows per step; 0: the workload's own number
  TrainingRecipe recipe{};
};

/// Reads settings. Throws Error for a missing workload, an unknown key, a value of the wrong kind,
/// an unknown name, settings that contradict each other, and a setting that has no effect because
/// of another one.
TrainSettings train_settings(const nlohmann::json& settings);

/// Returns the settings of a training by key, defaults included; of the scaler's parameters only
/// those that were given. It leaves out settings of products in binary32, of an attention that the
/// workload does not have, of an autoswitch that was not requested, and the options that the
/// optimizer does not read.
nlohmann::ordered_json effective_settings(const TrainSettings& settings);

/// Returns every key of settings, the parameters of scalers last.
std::vector<std::string_view> setting_keys();

/// Converts the value of `key` on a command line to JSON: to a number, in any plain spelling (007,
/// .1, 1e1), if the key takes one; to true or false if the key takes a truth value; else, and if
/// the words are no such value, to a text, which train_settings refuses where it is wrong. Throws
/// Error for an unknown key.
nlohmann::json setting_value(std::string_view key, std::string_view words);

/// Returns how many FP8 products autoswitch ran in BF16.
std::uint64_t switched_of(const TrainingLog& log);

/// Returns the result of a training: losses, accuracy, skipped steps, lost updates and others, with
/// the keys of train_result_keys(), multiply_adds by pass, and, where they apply, layer_scales and
/// autoswitch by layer. Nothing in it depends on time or machine.
nlohmann::ordered_json result_of(const TrainingLog& log);

}  // namespace binade
