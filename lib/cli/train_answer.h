// SPDX-License-Identifier: Apache-2.0
//
// What `binade train` is asked and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lib/train/trainer.h"

namespace binade {

struct TrainQuestion {
  nlohmann::json settings = nlohmann::json::object();
  std::string dump = {}, data = {};     ///< --dump, --data; empty: not given
  std::optional<std::int64_t> every{};  ///< steps between two dumps
  bool flow = false;
};

struct TrainAnswer {
  std::string text;
  nlohmann::ordered_json json;
};

/// Told after each step what it gave; may throw, to end the training.
using StepTold = std::function<void(const StepLog& step, std::int64_t done, std::int64_t of)>;

/// Trains, and dumps where asked. Error where settings, data or paths cannot be used, before the first step. `prepare` is
/// called when all but the paths that are written is known to be good: it tries these.
TrainAnswer train_answer(const TrainQuestion& question, const std::function<void()>& prepare,
                         const StepTold& told = {});

/// Names in lines of at most 100 columns, `indent` before each but the first.
std::string wrapped_names(std::span<const std::string_view> names, std::size_t indent);

}  // namespace binade
