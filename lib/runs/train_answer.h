// SPDX-License-Identifier: Apache-2.0
//
// One training, from the arguments of `binade train` to its text and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lib/train/trainer.h"

namespace binade {

/// The arguments of `binade train`.
struct TrainQuestion {
  nlohmann::json settings = nlohmann::json::object();  ///< setting's name: value
  std::string dump = {}, data = {};     ///< folders of --dump and --data; empty: not given
  std::optional<std::int64_t> every{};  ///< steps between two dumps; none: a twentieth of all, or 1
  bool flow = false;                    ///< tell which op ran in which dtype
};

struct TrainAnswer {
  std::string text;
  nlohmann::ordered_json json;
};

/// Is called after each step with its log, the number of steps done and that of all; may throw,
/// which ends the training.
using StepTold = std::function<void(const StepLog& step, std::int64_t done, std::int64_t of)>;

/// Is called after each step but the last with a function that makes the document of what is done
/// so far: of another schema, "binade.training_unfinished/1", with the key "unfinished" in the
/// place of "result". May throw, which ends the training.
using SoFarTold = std::function<void(const std::function<nlohmann::ordered_json()>& document)>;

/// Trains, and writes tensors to question.dump if it names a folder. Throws Error before the first
/// step if settings, data or paths cannot be used. `prepare` is called when all but the paths of
/// the outputs is known to be good, and checks these; it must not be empty. `told` and `so_far` are
/// called if they are given.
TrainAnswer train_answer(const TrainQuestion& question, const std::function<void()>& prepare,
                         const StepTold& told = {}, const SoFarTold& so_far = {});

}  // namespace binade
