// SPDX-License-Identifier: Apache-2.0
//
// The settings of a training: a table of keys, each with the function that reads its value, and the
// checks that no setting is without effect.
#include "lib/runs/train_settings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "lib/amp/opt_level.h"
#include "lib/instruction/instruction_name.h"
#include "lib/runs/workloads.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/spelling.h"
#include "lib/train/step_scaler.h"

namespace binade {
namespace {

using Json = nlohmann::json;

Error bad_value(std::string_view key, const Json& value, std::string_view wanted) {
  return Error(fmt::format("training: {}: {} is not {}", key, printable(value.dump()), wanted));
}

std::string text(std::string_view key, const Json& value) {
  if (!value.is_string()) {
    throw bad_value(key, value, fmt::format("a text; write \"{}\"", printable(value.dump())));
  }
  return value.get<std::string>();
}

double number(std::string_view key, const Json& value, double least, double most) {
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
    throw bad_value(key, value, fmt::format("a number from {} to {}", least, most));
  }
  return value.get<double>();
}

std::int64_t whole(std::string_view key, const Json& value, std::int64_t least, std::int64_t most) {
  // nlohmann keeps non-negative numbers unsigned; from 2^63 on they do not fit an int64.
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

std::size_t one_of(std::string_view key, const Json& value,
                   std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, text(key, value));
  if (found == names.end()) {
    throw bad_value(key, value, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::array<std::string, 3>& instructions(TrainSettings& s) { return s.recipe.products.instruction; }

/// The kind of value that a key takes.
enum class Takes : std::uint8_t { words, number, whole, truth };

struct Key {
  std::string_view name;
  Takes takes;
  void (*read)(TrainSettings& s, std::string_view key, const Json& value);
};
#define BINADE_KEY(name, kind, statement)                                                     \
  {                                                                                           \
    name, Takes::kind, [](TrainSettings& s, std::string_view k, const Json& v) { statement; } \
  }
AutoswitchOptions& autoswitch(TrainSettings& s) {
  return s.recipe.autoswitch ? *s.recipe.autoswitch : s.recipe.autoswitch.emplace();
}

constexpr std::array<Key, 26> keys{{
    BINADE_KEY("workload", words, s.workload = workload_row(text(k, v)).name),
    BINADE_KEY("level", words, s.recipe.level = opt_level(text(k, v)).name),
    BINADE_KEY("format", words, s.recipe.products.format = training_format(text(k, v)).name),
    BINADE_KEY("arch", words, s.recipe.products.sm = parse_architecture(text(k, v))),
    BINADE_KEY("accumulator", words, s.recipe.products.accumulator = text(k, v)),
    BINADE_KEY("promote_every", whole,
               s.recipe.products.promote_every = static_cast<int>(whole(k, v, 0, 1 << 20))),
    BINADE_KEY("fprop", words, instructions(s)[0] = text(k, v)),
    BINADE_KEY("dgrad", words, instructions(s)[1] = text(k, v)),
    BINADE_KEY("wgrad", words, instructions(s)[2] = text(k, v)),
    BINADE_KEY(
        "attention", words,
        s.recipe.products.attention = static_cast<Attention>(one_of(k, v, names_of(attentions)))),
    BINADE_KEY("autoswitch", truth, if (truth(k, v)) autoswitch(s)),
    BINADE_KEY("autoswitch_underflow", number,
               autoswitch(s).underflow_percent = number(k, v, 0, 100)),
    BINADE_KEY("autoswitch_mse", number, autoswitch(s).mse = number(k, v, 0, 1e300)),
    BINADE_KEY("scaler", words, s.recipe.scaler = text(k, v)),
    BINADE_KEY("skip_overflow", truth, s.recipe.skip_overflow = truth(k, v)),
    BINADE_KEY("loss_shift", whole, s.recipe.loss_shift = static_cast<int>(whole(k, v, -60, 60))),
    BINADE_KEY("optimizer", words,
               s.recipe.optimizer.name = optimizers()[one_of(k, v, names_of(optimizers()))].name),
    BINADE_KEY("lr", number, s.recipe.optimizer.lr = number(k, v, 0, 1e6)),
    BINADE_KEY("momentum", number, s.recipe.optimizer.momentum = number(k, v, 0, 1)),
    BINADE_KEY("weight_decay", number, s.recipe.optimizer.weight_decay = number(k, v, 0, 1e6)),
    BINADE_KEY("master_weights", truth, s.recipe.master_weights = truth(k, v)),
    BINADE_KEY(
        "update", words,
        s.recipe.optimizer.update = static_cast<UpdateRule>(one_of(k, v, update_rule_names))),
    BINADE_KEY("clip_norm", number, s.recipe.clip_norm = number(k, v, 0, 1e30)),
    BINADE_KEY("steps", whole, s.recipe.steps = whole(k, v, 1, 10'000'000)),
    BINADE_KEY("batch", whole, s.batch = static_cast<std::size_t>(whole(k, v, 1, 1 << 20))),
    BINADE_KEY("seed", whole,
               s.recipe.seed = static_cast<std::uint64_t>(whole(k, v, 0, 1LL << 53))),
}};
#undef BINADE_KEY

void read_parameter(TrainSettings& s, std::string_view key, const Json& value) {
  const ScalerParameter& p = *std::ranges::find(scaler_parameters(), key, &ScalerParameter::name);
  double& to = s.recipe.scaler_parameters[std::string(key)];
  switch (p.kind) {
    case ParameterKind::number: to = number(key, value, p.least, p.most); break;
    case ParameterKind::whole:
      to = static_cast<double>(
          whole(key, value, static_cast<std::int64_t>(p.least), static_cast<std::int64_t>(p.most)));
      break;
    case ParameterKind::truth: to = truth(key, value) ? 1 : 0; break;
  }
}

Takes takes_of(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::whole: return Takes::whole;
    case ParameterKind::truth: return Takes::truth;
    case ParameterKind::number: break;
  }
  return Takes::number;
}

Key key_of(std::string_view name) {
  const auto* key = std::ranges::find(keys, name, &Key::name);
  if (key != keys.end()) return *key;
  const auto parameters = scaler_parameters();
  const auto parameter = std::ranges::find(parameters, name, &ScalerParameter::name);
  if (parameter != parameters.end()) {
    return {parameter->name, takes_of(parameter->kind), &read_parameter};
  }
  const std::vector<std::string_view> known = setting_keys();
  throw Error(fmt::format("training: unknown key {}{}; keys are {}", printable(name),
                          did_you_mean(name, known), listed(known)));
}

/// Throws Error for the first given setting that has no effect.
void check_effects(const Json& settings, const TrainSettings& s) {
  const TrainingRecipe& recipe = s.recipe;
  const ScalerTakes takes = scaler_takes(recipe);
  const bool has_none = recipe.scaler.empty() && !training_format(recipe.products.format).scaled;
  const std::string scaler =
      has_none                ? fmt::format("format {}, which has no scaler unless one is named",
                                            recipe.products.format)
      : recipe.scaler.empty() ? fmt::format("the scaler of level {} and format {}", recipe.level,
                                            recipe.products.format)
                              : "scaler " + recipe.scaler;
  const OptimizerRow& optimizer = optimizer_row(recipe.optimizer.name);
  const std::string with_optimizer = fmt::format("optimizer {}", optimizer.name);
  const auto choose = [](std::string_view option) {
    return fmt::format("choose optimizer {}", alternatives(optimizers_with(option)));
  };
  const bool in_float = recipe.products.format == "binary32";
  const bool by_eigen = in_float || recipe.products.accumulator == "reference";
  const std::string products = in_float ? "format binary32" : "accumulator reference";
  const std::string emulated = "let products be emulated, as format binary16 does";
  const std::string workload = fmt::format("workload {}", s.workload);
  const OptLevel& level = opt_level(recipe.level);
  const bool lowers = training_format(recipe.products.format).dtype != binary32;
  const bool in_binary32 = level.cast_model_type == binary32;
  const bool low_model = level.cast_model_type && !in_binary32 && lowers;
  const bool has_masters = recipe.master_weights.value_or(level.master_weights.value_or(false));
  const std::string low_needed = fmt::format("level {} and format {}, whose weights are binary32",
                                             recipe.level, recipe.products.format);
  for (const auto& [name, value] : recipe.scaler_parameters) {
    if (std::ranges::find(takes.parameters, name) != takes.parameters.end()) continue;
    const std::string takes_what =
        takes.parameters.empty() ? "" : fmt::format(", which takes {}", listed(takes.parameters));
    throw Error(
        fmt::format("training: {} has no effect with {}{}: leave it out, or choose another "
                    "scaler",
                    name, printable(scaler), takes_what));
  }
  const bool fp8 = recipe.products.format == "e4m3";
  const std::string format = fmt::format("format {}", recipe.products.format);
  const bool switches = settings.value("autoswitch", Json(false)) == true;
  const std::string with_fp8 = "choose format e4m3", with_switch = "add autoswitch=true";
  const auto idle = [&settings](std::string_view key, bool without_effect,
                                const std::string& because, const std::string& remedy) {
    return IdleOption{std::string(key), without_effect && settings.contains(key),
                      "with " + printable(because), remedy};
  };
  refuse_idle(
      std::array{
          idle("autoswitch", !fp8 && switches, format, with_fp8),
          idle("autoswitch_underflow", !switches, "autoswitch false", with_switch),
          idle("autoswitch_mse", !switches, "autoswitch false", with_switch),
          idle("skip_overflow", !takes.skip_overflow, scaler,
               "choose a fixed one, such as static:1024"),
          idle("attention", !workload_row(s.workload).attends, workload, "train char_transformer"),
          idle("master_weights", !low_model, low_needed, "choose level O2 or O3"),
          idle("update", low_model && has_masters && !workload_row(s.workload).batch_norms,
               "master weights", "choose level O3"),
          idle("momentum", !optimizer.takes("momentum"), with_optimizer, choose("momentum")),
          idle("weight_decay", !optimizer.takes("weight_decay"), with_optimizer,
               choose("weight_decay")),
          // In binary32 products are always the reference's, so that accumulator=reference is not
          // wrong.
          idle("accumulator", in_float && recipe.products.accumulator != "reference", products,
               emulated),
          idle("arch", by_eigen, products, emulated),
          idle("promote_every", by_eigen, products, emulated),
          idle("fprop", by_eigen, products, emulated),
          idle("dgrad", by_eigen, products, emulated),
          idle("wgrad", by_eigen, products, emulated),
          // Level O0 says what such a format is, so that it is not wrong.
          idle("level", !lowers && recipe.level != TrainingRecipe{}.level && !in_binary32,
               format + ", which keeps weights and operations in binary32",
               "choose format binary16"),
      },
      "training: ");
}

}  // namespace

TrainSettings train_settings(const Json& settings) {
  if (!settings.is_object()) throw Error("training: settings are not an object of keys and values");
  TrainSettings out;
  out.recipe.optimizer.momentum = 0.9;
  if (settings.contains("workload")) {
    const WorkloadRow& row = workload_row(text("workload", settings["workload"]));
    out.recipe.optimizer.name = row.optimizer;
    out.recipe.optimizer.lr = row.lr;
  } else {
    throw Error("training: no workload; name one, as {\"workload\": \"digits_mlp\"}");
  }
  for (const auto& [name, value] : settings.items()) {
    const Key key = key_of(name);
    key.read(out, key.name, value);
  }
  check_recipe(out.recipe);
  check_effects(settings, out);
  return out;
}

std::vector<std::string_view> setting_keys() {
  std::vector<std::string_view> names = names_of(keys);
  for (const ScalerParameter& p : scaler_parameters()) names.push_back(p.name);
  return names;
}

Json setting_value(std::string_view key, std::string_view words) {
  const Takes takes = key_of(key).takes;
  if (takes == Takes::truth && (words == "true" || words == "false")) return words == "true";
  if (takes != Takes::number && takes != Takes::whole) return std::string(words);
  const char* end = words.data() + words.size();
  std::int64_t integer = 0;
  const auto [integer_end, integer_error] = std::from_chars(words.data(), end, integer);
  if (integer_error == std::errc{} && integer_end == end) return integer;
  double number = 0;
  const auto [number_end, number_error] = std::from_chars(words.data(), end, number);
  const bool read = number_error == std::errc{} && number_end == end && std::isfinite(number);
  if (!read) return std::string(words);
  const bool is_whole = std::floor(number) == number && std::abs(number) <= 0x1p53;
  if (takes == Takes::whole && is_whole) return static_cast<std::int64_t>(number);
  return number;
}

nlohmann::ordered_json effective_settings(const TrainSettings& s) {
  const TrainingRecipe& r = s.recipe;
  const WorkloadRow& row = workload_row(s.workload);
  nlohmann::ordered_json out{{"workload", s.workload},
                             {"level", r.level},
                             {"format", training_format(r.products.format).name},
                             {"scaler", scaler_of(r)}};
  for (const auto& [name, value] : r.scaler_parameters) out[name] = value;
  if (r.products.format != "binary32") {
    out["arch"] = fmt::format("sm_{}", r.products.sm);
    out["accumulator"] = r.products.accumulator;
    out["promote_every"] = r.products.promote_every;
    for (std::size_t i = 0; i < pass_names.size(); ++i) {
      if (!r.products.instruction[i].empty()) out[pass_names[i]] = r.products.instruction[i];
    }
  }
  if (row.attends)
    out["attention"] = attentions[static_cast<std::size_t>(r.products.attention)].name;
  if (r.autoswitch) {
    out["autoswitch_underflow"] = r.autoswitch->underflow_percent;
    out["autoswitch_mse"] = r.autoswitch->mse;
  }
  const OptimizerRow& optimizer = optimizer_row(r.optimizer.name);
  out["optimizer"] = optimizer.name;
  out["lr"] = r.optimizer.lr;
  if (optimizer.takes("momentum")) out["momentum"] = r.optimizer.momentum;
  if (optimizer.takes("weight_decay")) out["weight_decay"] = r.optimizer.weight_decay;
  out["update"] = update_rule_names[static_cast<std::size_t>(r.optimizer.update)];
  const OptLevel& level = opt_level(r.level);
  out["master_weights"] = r.master_weights.value_or(level.master_weights.value_or(false));
  out["skip_overflow"] = r.skip_overflow;
  out["loss_shift"] = r.loss_shift;
  out["clip_norm"] = r.clip_norm;
  out["steps"] = r.steps;
  out["batch"] = s.batch == 0 ? row.batch : s.batch;
  out["seed"] = r.seed;
  return out;
}

std::uint64_t switched_of(const TrainingLog& log) {
  std::uint64_t sum = 0;
  for (const SwitchTally& tally : log.switches) sum += tally.switched;
  return sum;
}

nlohmann::ordered_json result_of(const TrainingLog& log) {
  const StepCounts updates = log.updates();
  nlohmann::ordered_json out{{"steps_done", log.steps.size()},
                             {"test_accuracy", log.test_accuracy},
                             {"test_loss", log.test_loss},
                             {"test_rows", log.test_rows},
                             {"final_loss", log.final_loss()},
                             {"skipped", log.skipped},
                             {"final_scale", log.steps.empty() ? 1 : log.steps.back().scale},
                             {"not_finite", log.not_finite},
                             {"updates_asked", updates.asked},
                             {"updates_lost", updates.lost},
                             {"updates_not_shown", updates.not_shown},
                             {"parameters", log.parameters}};
  if (log.gave_up) out["gave_up"] = *log.gave_up;
  for (const LayerScale& l : log.layer_scales) {
    out["layer_scales"].push_back({{"layer", l.layer}, {"scale", l.scale}, {"product", l.product}});
  }
  if (!log.switches.empty()) out["switched"] = switched_of(log);
  for (const SwitchTally& s : log.switches) {
    out["autoswitch"].push_back({{"layer", s.layer},
                                 {"product", s.gemm},
                                 {"products", s.products},
                                 {"switched", s.switched},
                                 {"worst_underflow_percent", s.worst.underflow_percent},
                                 {"worst_mse", s.worst.mse}});
  }
  for (std::size_t i = 0; i < pass_names.size(); ++i) {
    out["multiply_adds"][pass_names[i]] = log.tally.multiply_adds[i];
  }
  return out;
}

}  // namespace binade
