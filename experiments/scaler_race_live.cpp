// SPDX-License-Identifier: Apache-2.0
//
// Trains the digits MLP under binary16 autocast with a loss 2^-18 times as large, so that nearly
// every gradient is lost at scale 1: which policies find a scale with which the network learns, and
// how many steps do they skip? First each policy has its own parameters, with which hardly any
// scale grows within so few steps. Then each has a growth interval of 5, so that the scales grow
// until gradients overflow and stay near that limit; this is done for several seeds, whose
// accuracies differ by 1 % and more.
#include "experiments/scaler_race_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/runs/trainings.h"

namespace binade {
namespace {

constexpr int loss_shift = 18;
constexpr std::int64_t short_interval = 5;

/// What a policy is expected to do with gradients that vanish at scale 1.
enum class Fate : std::uint8_t { learns, fails };

struct Racer {
  std::string_view name;
  Fate fate = Fate::learns;
  bool is_quick = false;
  bool has_interval = true;
  bool climbs = false;  ///< it reaches a scale that works from any first scale
};

/// The policies that train. log_max fails because it begins at scale 1, where the gradients are all
/// zero: it takes their logarithm, and its scale is NaN from then on.
const std::vector<Racer>& racers() {
  static const std::vector<Racer> all{
      {.name = "torch", .is_quick = true},
      {.name = "apex"},
      {.name = "keras2"},
      {.name = "keras3"},
      {.name = "jmp"},
      {.name = "deepspeed"},
      {.name = "deepspeed_class"},
      {.name = "megatron", .is_quick = true},
      {.name = "fairseq"},
      {.name = "fairseq_class"},
      {.name = "mxnet"},
      {.name = "openseq2seq_backoff"},
      {.name = "paddle"},
      {.name = "paddle_static"},
      {.name = "static:1", .fate = Fate::fails, .has_interval = false},
      {.name = "static:1024", .has_interval = false},
      {.name = "static:65536", .has_interval = false},
      {.name = "none", .fate = Fate::fails, .is_quick = true, .has_interval = false},
      {.name = "log_max", .fate = Fate::fails, .has_interval = false},
      {.name = "histogram", .has_interval = false, .climbs = true},
  };
  return all;
}

/// The trainings under one policy, one per seed.
struct Lap {
  Racer racer;
  TrainingLog log;      ///< of seed 0
  double accuracy = 0;  ///< mean over the seeds
  double skipped = 0;   ///< mean over the seeds
};

struct Round {
  std::int64_t steps;
  std::int64_t growth_interval;  ///< 0: each policy has its own
  std::uint64_t seeds;
};

std::string scale_text(double scale) {
  if (!std::isfinite(scale)) return std::isnan(scale) ? "NaN" : "inf";
  return fmt::format("2^{:.4g}", std::log2(scale));
}

/// Returns the curve of the scale, with a point where it changes and at the end.
Series curve_of(const Lap& lap) {
  Series curve{.name = std::string(lap.racer.name), .mark = Mark::steps};
  const std::vector<StepLog>& steps = lap.log.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && i + 1 < steps.size() && steps[i].scale == steps[i - 1].scale) continue;
    curve.x.push_back(static_cast<double>(i + 1));
    curve.y.push_back(steps[i].scale);
  }
  return curve;
}

nlohmann::ordered_json lap_json(const Lap& lap, const Round& round) {
  const StepLog &first = lap.log.steps.front(), &last = lap.log.steps.back();
  nlohmann::ordered_json row{{"policy", lap.racer.name},
                             {"growth_interval", nullptr},
                             {"seeds", round.seeds},
                             {"steps", lap.log.steps.size()},
                             {"test_accuracy", lap.accuracy},
                             {"skipped", lap.skipped},
                             {"first_log2", std::log2(first.scale)},
                             {"last_log2", nullptr},
                             {"gave_up", nullptr}};
  if (round.growth_interval > 0) row["growth_interval"] = round.growth_interval;
  if (std::isfinite(last.scale)) row["last_log2"] = std::log2(last.scale);
  if (lap.log.gave_up) row["gave_up"] = lap.log.steps.size();
  return row;
}

TrainingRecipe recipe_of(std::int64_t steps, std::uint64_t seed) {
  TrainingRecipe recipe = in_format(usual_recipe("digits_mlp", steps, seed), "native", "binary16");
  recipe.products.accumulator = "reference";  // the experiment is about range, not about sums
  recipe.loss_shift = loss_shift;
  return recipe;
}

/// Returns the name of a training, which is unique even if both rounds have the same policy and
/// seed.
std::string training_name(std::string_view policy, std::uint64_t seed, const Round& round) {
  const std::string name = fmt::format("training {} seed {}", policy, seed);
  return round.growth_interval > 0
             ? fmt::format("{} growth interval {}", name, round.growth_interval)
             : name;
}

std::vector<Lap> run_round(Trainings& trainings, const std::vector<Racer>& field,
                           const Round& round) {
  std::vector<Lap> laps;
  for (const Racer& racer : field) {
    Lap lap{.racer = racer, .log = {}};
    for (std::uint64_t seed = 0; seed < round.seeds; ++seed) {
      TrainingRecipe recipe = recipe_of(round.steps, seed);
      recipe.scaler = racer.name;
      if (round.growth_interval > 0) {
        recipe.scaler_parameters["growth_interval"] = static_cast<double>(round.growth_interval);
      }
      TrainingLog log = trainings.run(
          training_name(fmt::format("under {}", racer.name), seed, round), "digits_mlp", recipe);
      lap.accuracy += log.test_accuracy / static_cast<double>(round.seeds);
      lap.skipped += static_cast<double>(log.skipped) / static_cast<double>(round.seeds);
      if (seed == 0) lap.log = std::move(log);
    }
    laps.push_back(std::move(lap));
  }
  return laps;
}

/// Returns the mean accuracy of binary32 trainings over the seeds of a round.
double reference_of(Trainings& trainings, const Round& round) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < round.seeds; ++seed) {
    sum += trainings
               .run(training_name("in binary32", seed, round), "digits_mlp",
                    usual_recipe("digits_mlp", round.steps, seed))
               .test_accuracy;
  }
  return sum / static_cast<double>(round.seeds);
}

void show(const std::vector<Lap>& laps, double reference, const Round& round, Outcome& out) {
  const bool own = round.growth_interval == 0;
  std::string title =
      fmt::format("{} steps of the digits MLP in binary16, loss 2^-{}", round.steps, loss_shift);
  if (!own) title += fmt::format(", growth interval {}", round.growth_interval);
  Table table{round.seeds > 1 ? fmt::format("{}, mean of {} seeds", title, round.seeds) : title,
              {"policy", "test accuracy", "less than binary32", "skipped", "S at first",
               "S at last", "gives up at"},
              {}};
  Plot plot{.title = title,
            .x_label = "step",
            .y_label = "loss scale",
            .y_axis = Axis::log2,
            .note = own ? "Few steps for intervals of 1000 and 2000: only scales that are set at "
                          "every step change. A curve that ends is a scale that is NaN."
                        : "The scales climb until scaled gradients overflow; each fall is a "
                          "skipped step."};
  for (const Lap& lap : laps) {
    const std::vector<StepLog>& steps = lap.log.steps;
    table.rows.push_back({std::string(lap.racer.name), fmt::format("{:.2f} %", 100 * lap.accuracy),
                          fmt::format("{:.2f} %", 100 * (reference - lap.accuracy)),
                          fmt::format("{:.4g}", lap.skipped), scale_text(steps.front().scale),
                          scale_text(steps.back().scale),
                          lap.log.gave_up ? std::to_string(steps.size()) : "-"});
    plot.series.push_back(curve_of(lap));
    out.data["trainings"].push_back(lap_json(lap, round));
  }
  out.tables.push_back(table);
  out.plots.push_back(plot);
}

std::vector<Racer> field_of(bool quick, bool with_interval_only) {
  std::vector<Racer> field;
  for (const Racer& racer : racers()) {
    if ((!quick || racer.is_quick) && (!with_interval_only || racer.has_interval)) {
      field.push_back(racer);
    }
  }
  return field;
}

/// The lowest accuracy of the policies that are expected to learn, the highest of those that are
/// expected to fail, and the smallest first scale of a policy that is expected to learn and does
/// not climb from any scale.
struct Ends {
  double learns = 1, fails = 0, least_scale = HUGE_VAL;
};
Ends ends_of(const std::vector<Lap>& laps) {
  Ends out;
  for (const Lap& lap : laps) {
    if (lap.racer.fate == Fate::fails) {
      out.fails = std::max(out.fails, lap.accuracy);
    } else {
      out.learns = std::min(out.learns, lap.accuracy);
      if (lap.racer.climbs) continue;
      out.least_scale = std::min(out.least_scale, lap.log.steps.front().scale);
    }
  }
  return out;
}

}  // namespace

LiveRace race_on_trainings(const ExperimentInput& input, Outcome& out) {
  const std::int64_t steps = input.quick ? 110 : 220;
  const Round own{steps, 0, 1}, hasty{steps, short_interval, input.quick ? 1U : 5U};
  const std::vector<Racer> all = field_of(input.quick, false);
  const std::vector<Racer> growing = field_of(input.quick, true);
  Trainings trainings(input, own.seeds * (1 + all.size()) + hasty.seeds * (1 + growing.size()));
  const auto race = [&](const Round& round, const std::vector<Racer>& field, double& reference) {
    reference = reference_of(trainings, round);
    std::vector<Lap> laps = run_round(trainings, field, round);
    show(laps, reference, round, out);
    return laps;
  };
  double reference = 0, mean_reference = 0;
  const std::vector<Lap> calm = race(own, all, reference);
  const std::vector<Lap> busy = race(hasty, growing, mean_reference);
  out.data["binary32_accuracy"] = reference;
  out.data["binary32_mean_accuracy"] = mean_reference;
  const auto unscaled =
      std::ranges::find(calm, "none", [](const Lap& lap) { return lap.racer.name; });
  double most = 0;
  for (const Lap& lap : busy) most = std::max(most, lap.skipped);
  const Ends ends = ends_of(calm), ends_of_busy = ends_of(busy);
  MeasuredFigures measured{{"shift", std::exp2(-loss_shift)},
                           {"behind", reference - ends.learns},
                           {"behind_hasty", mean_reference - ends_of_busy.learns},
                           {"fails", ends.fails}};
  if (!input.quick) measured["least_scale"] = ends.least_scale;
  return {
      std::move(measured),
      fmt::format(
          "trained from seed 0 with a loss 2^-{} times as large, policies that begin high enough "
          "end at {:.2f} % or more where binary32 ends at {:.2f} % and no scale at "
          "{:.2f} %; with a growth interval of {} and {} at {:.2f} % or more (binary32 {:.2f} "
          "%), with up to {:.4g} of {} steps skipped",
          loss_shift, 100 * ends.learns, 100 * reference, 100 * unscaled->accuracy, short_interval,
          hasty.seeds == 1 ? "the same seed" : fmt::format("{} seeds", hasty.seeds),
          100 * ends_of_busy.learns, 100 * mean_reference, most, steps)};
}

}  // namespace binade
