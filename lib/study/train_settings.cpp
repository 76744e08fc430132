// SPDX-License-Identifier: Apache-2.0
//
// The keys of a training as a table: each reads its value into the settings.
#include "lib/study/train_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/amp/loss_scaler.h"
#include "lib/amp/opt_level.h"
#include "lib/record/instruction_name.h"
#include "lib/study/workloads.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

using Json = nlohmann::json;

Error bad_value(std::string_view key, const Json& value, std::string_view wanted) {
  return Error(fmt::format("training: {}: {} is not {}", key, printable(value.dump()), wanted));
}

std::string text(std::string_view key, const Json& value) {
  if (!value.is_string()) throw bad_value(key, value, "a text");
  return value.get<std::string>();
}

double number(std::string_view key, const Json& value, double least, double most) {
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
    throw bad_value(key, value, fmt::format("a number from {} to {}", least, most));
  }
  return value.get<double>();
}

std::int64_t whole(std::string_view key, const Json& value, std::int64_t least, std::int64_t most) {
  // Unsigned numbers from 2^63 on are no int64; all below are the same in both.
  const bool held = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : value.is_number_integer() && value.get<std::int64_t>() <= most;
  if (!held || value.get<std::int64_t>() < least) {
    throw bad_value(key, value, fmt::format("a whole number from {} to {}", least, most));
  }
  return value.get<std::int64_t>();
}

bool truth(std::string_view key, const Json& value) {
  if (!value.is_boolean()) throw bad_value(key, value, "true or false");
  return value.get<bool>();
}

template <std::size_t size>
std::size_t one_of(std::string_view key, const Json& value,
                   const std::array<std::string_view, size>& names) {
  const auto* found = std::ranges::find(names, text(key, value));
  if (found == names.end()) {
    throw bad_value(key, value, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// Also "log_max" and "histogram", which are code.
std::string scaler_name(std::string_view key, const Json& value) {
  std::string name = text(key, value);
  if (name != "log_max" && name != "histogram") static_cast<void>(loss_scale_policy(name));
  return name;
}

std::array<std::string, 3>& instructions(TrainSettings& s) { return s.recipe.products.instruction; }

struct Key {
  std::string_view name;
  void (*read)(TrainSettings& s, std::string_view key, const Json& value);
};
#define BINADE_KEY(name, statement)                                              \
  {                                                                              \
    name, [](TrainSettings& s, std::string_view k, const Json& v) { statement; } \
  }
constexpr std::array<Key, 24> keys{{
    BINADE_KEY("workload", s.workload = workload_row(text(k, v)).name),
    BINADE_KEY("level", s.recipe.level = opt_level(text(k, v)).name),
    BINADE_KEY("format", s.recipe.products.format = training_format(text(k, v)).name),
    BINADE_KEY("arch", s.recipe.products.sm = parse_architecture(text(k, v))),
    BINADE_KEY("accumulator", s.recipe.products.accumulator = text(k, v)),
    BINADE_KEY("promote_every",
               s.recipe.products.promote_every = static_cast<int>(whole(k, v, 0, 1 << 20))),
    BINADE_KEY("fprop", instructions(s)[0] = text(k, v)),
    BINADE_KEY("dgrad", instructions(s)[1] = text(k, v)),
    BINADE_KEY("wgrad", instructions(s)[2] = text(k, v)),
    BINADE_KEY("scaler", s.recipe.scaler = scaler_name(k, v)),
    BINADE_KEY("init_scale", s.recipe.init_scale = number(k, v, 0x1p-126, 0x1p127)),
    BINADE_KEY("growth_interval", s.recipe.growth_interval = whole(k, v, 1, 1 << 30)),
    BINADE_KEY("skip_overflow", s.recipe.skip_overflow = truth(k, v)),
    BINADE_KEY("loss_shift", s.recipe.loss_shift = static_cast<int>(whole(k, v, -60, 60))),
    BINADE_KEY("optimizer",
               s.recipe.optimizer.kind = static_cast<OptimizerKind>(one_of(k, v, optimizer_names))),
    BINADE_KEY("lr", s.recipe.optimizer.lr = number(k, v, 0, 1e6)),
    BINADE_KEY("momentum", s.recipe.optimizer.momentum = number(k, v, 0, 1)),
    BINADE_KEY("weight_decay", s.recipe.optimizer.weight_decay = number(k, v, 0, 1e6)),
    BINADE_KEY("master_weights", s.recipe.master_weights = truth(k, v)),
    BINADE_KEY("update", s.recipe.optimizer.update =
                             static_cast<UpdateRule>(one_of(k, v, update_rule_names))),
    BINADE_KEY("clip_norm", s.recipe.clip_norm = number(k, v, 0, 1e30)),
    BINADE_KEY("steps", s.recipe.steps = whole(k, v, 1, 10'000'000)),
    BINADE_KEY("batch", s.batch = static_cast<std::size_t>(whole(k, v, 1, 1 << 20))),
    BINADE_KEY("seed", s.recipe.seed = static_cast<std::uint64_t>(whole(k, v, 0, 1LL << 53))),
}};
#undef BINADE_KEY

}  // namespace

TrainSettings train_settings(const Json& settings) {
  if (!settings.is_object()) throw Error("training: settings are not an object of keys and values");
  TrainSettings out;
  out.recipe.optimizer.momentum = 0.9;
  if (settings.contains("workload")) {
    const WorkloadRow& row = workload_row(text("workload", settings["workload"]));
    out.recipe.optimizer.kind = row.optimizer;
    out.recipe.optimizer.lr = row.lr;
  } else {
    throw Error("training: no workload; name one, as {\"workload\": \"digits_mlp\"}");
  }
  for (const auto& [name, value] : settings.items()) {
    const auto* key = std::ranges::find(keys, name, &Key::name);
    if (key == keys.end()) {
      std::string known;
      for (const Key& k : keys) known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
      throw Error(fmt::format("training: unknown key {}; keys are {}", printable(name), known));
    }
    key->read(out, key->name, value);
  }
  static_cast<void>(tensor_core_products(out.recipe.products));
  return out;
}

nlohmann::ordered_json result_of(const TrainingLog& log) {
  std::uint64_t asked = 0, lost = 0;
  for (const StepLog& step : log.steps) {
    asked += step.updates.asked;
    lost += step.updates.lost;
  }
  nlohmann::ordered_json out{{"steps", log.steps.size()},
                             {"test_accuracy", log.test_accuracy},
                             {"test_loss", log.test_loss},
                             {"test_rows", log.test_rows},
                             {"final_loss", log.final_loss()},
                             {"skipped", log.skipped},
                             {"final_scale", log.steps.empty() ? 1 : log.steps.back().scale},
                             {"not_finite", log.not_finite},
                             {"updates_asked", asked},
                             {"updates_lost", lost},
                             {"parameters", log.parameters}};
  if (log.gave_up) out["gave_up"] = *log.gave_up;
  for (std::size_t i = 0; i < pass_names.size(); ++i) {
    out["multiply_adds"][pass_names[i]] = log.tally.multiply_adds[i];
  }
  return out;
}

}  // namespace binade
