// SPDX-License-Identifier: Apache-2.0
//
// Question: which binades of the gradients does learning need? The digits MLP is trained in two
// ways: in binary32 with a backward pass that sets every gradient below a threshold (or in a band)
// to zero, and in binary16 (autocast, no loss scale) with the loss times 2^-k, undone in binary32
// before the step, as if all gradients were k binades smaller. The last training has a loss scale,
// which is the cure.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lib/runs/experiment.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

/// A cut sets gradients with 2^low <= |x| < 2^high to zero.
struct BandCut {
  std::string_view name;
  int low, high;
};
constexpr std::array<BandCut, 9> band_cuts{{{"nothing", 0, 0},
                                            {"below 2^-27", -1100, -27},
                                            {"[2^-27, 2^-24)", -27, -24},
                                            {"below 2^-24", -1100, -24},
                                            {"below 2^-20", -1100, -20},
                                            {"below 2^-16", -1100, -16},
                                            {"below 2^-14", -1100, -14},
                                            {"below 2^-12", -1100, -12},
                                            {"below 2^-10", -1100, -10}}};

/// The number and the sum of squares of the gradients that a cut removed, and of all gradients.
struct Removed {
  double values = 0, squares = 0, all_values = 0, all_squares = 0;
};

std::function<void(std::vector<float>&)> cutting(const BandCut& cut, Removed& removed) {
  const double low = std::ldexp(1.0, cut.low), high = std::ldexp(1.0, cut.high);
  return [low, high, &removed](std::vector<float>& gradient) {
    for (float& x : gradient) {
      const double magnitude = std::abs(static_cast<double>(x));
      removed.all_values += magnitude != 0 ? 1 : 0;
      removed.all_squares += magnitude * magnitude;
      if (magnitude == 0 || magnitude < low || magnitude >= high) continue;
      removed.values += 1;
      removed.squares += magnitude * magnitude;
      x = 0;
    }
  };
}

std::string points(double accuracy) { return fmt::format("{:.2f} %", 100 * accuracy); }

/// Trains in binary32 with each cut. Returns the accuracy of each training.
std::vector<double> ablate(Trainings& trainings, std::int64_t steps, Outcome& out) {
  Table table{"Binary32, gradients set to zero by magnitude (digits MLP)",
              {"set to zero", "share of non-zero values", "share of the L2 norm", "test accuracy"},
              {}};
  Series curve{.name = "gradients below the threshold are zero", .x = {}, .y = {}};
  std::vector<double> accuracies;
  for (const BandCut& cut : band_cuts) {
    Removed removed;
    Hooks<float> hooks;
    hooks.gradient_filter = cutting(cut, removed);
    const TrainingLog log = trainings.run(fmt::format("cut {}", cut.name), "digits_mlp",
                                          usual_recipe("digits_mlp", steps), hooks);
    const double values = removed.values / removed.all_values;
    const double norm = std::sqrt(removed.squares / removed.all_squares);
    accuracies.push_back(log.test_accuracy);
    table.rows.push_back(
        {std::string(cut.name), percent(values), percent(norm), points(log.test_accuracy)});
    out.data["ablation"].push_back({{"cut", cut.name},
                                    {"of_nonzero", values},
                                    {"of_l2", norm},
                                    {"test_accuracy", log.test_accuracy}});
    if (cut.low < -1000) {
      curve.x.push_back(std::ldexp(1.0, cut.high));
      curve.y.push_back(100 * log.test_accuracy);
    }
  }
  out.tables.push_back(table);
  out.plots.push_back({.title = "What learning needs of small gradients",
                       .x_label = "threshold",
                       .y_label = "test accuracy, %",
                       .x_axis = Axis::log2,
                       .series = {curve},
                       .note =
                           "Binary32 trainings of the digits MLP: every gradient whose magnitude "
                           "is below the threshold is set to zero in the backward pass."});
  return accuracies;
}

struct ShiftResult {
  double plain = 0, shifted_14 = 0, shifted_16 = 0, far = 0, cured = 0;
};

/// Trains in binary16 with the loss times 2^-k, for each k of `shifts`.
ShiftResult shift(Trainings& trainings, std::string_view workload, std::int64_t steps,
                  const std::vector<int>& shifts, Table& table, Plot& plot, Outcome& out) {
  ShiftResult result;
  Series curve{.name = std::string(workload), .x = {}, .y = {}};
  const auto one = [&](int k, const std::string& scaler) {
    TrainingRecipe recipe = in_format(usual_recipe(workload, steps), "native", "binary16");
    recipe.products.accumulator = "reference";  // the experiment is about range, not about sums
    recipe.loss_shift = k;
    recipe.scaler = scaler;
    const TrainingLog log =
        trainings.run(fmt::format("{} shift {} {}", workload, k, scaler), workload, recipe);
    table.rows.push_back({std::string(workload), fmt::format("2^-{}", k),
                          scaler == "none" ? "none" : "2^16, dynamic", points(log.test_accuracy),
                          fmt::format("{:.3g}", log.final_loss()), std::to_string(log.skipped)});
    out.data["loss_shift"].push_back({{"workload", workload},
                                      {"shift", k},
                                      {"scaler", scaler},
                                      {"test_accuracy", log.test_accuracy},
                                      {"final_loss", log.final_loss()},
                                      {"skipped", log.skipped}});
    return log.test_accuracy;
  };
  for (const int k : shifts) {
    const double accuracy = one(k, "none");
    curve.x.push_back(k);
    curve.y.push_back(100 * accuracy);
    if (k == 0) result.plain = accuracy;
    if (k == 14) result.shifted_14 = accuracy;
    if (k == 16) result.shifted_16 = accuracy;
    result.far = accuracy;
  }
  result.cured = one(shifts.back(), "torch");
  plot.series.push_back(curve);
  return result;
}

Outcome run_band_ablation(const ExperimentInput& input) {
  Outcome out;
  const std::int64_t steps = input.quick ? 132 : 440;
  const std::vector<int> shifts =
      input.quick ? std::vector{0, 14, 24} : std::vector{0, 4, 8, 10, 12, 14, 16, 18, 20, 24};
  const std::vector<std::string_view> workloads =
      input.quick ? std::vector<std::string_view>{"digits_mlp"}
                  : std::vector<std::string_view>{"digits_mlp", "digits_tanh8"};
  Trainings trainings(input, band_cuts.size() + workloads.size() * (shifts.size() + 1));
  const std::vector<double> ablation = ablate(trainings, steps, out);
  Table table{"Binary16 under autocast, the loss times 2^-k (undone in binary32 before the step)",
              {"network", "loss times", "loss scale", "test accuracy", "final loss", "skipped"},
              {}};
  Plot plot{
      .title = "Binary16 without a loss scale, as gradients become smaller",
      .x_label = "loss shift k: the backward pass sees 2^-k times the loss",
      .y_label = "test accuracy, %",
      .series = {},
      .note = "A flat roof, then a cliff: binary16 has room to lose before learning notices."};
  ShiftResult digits;
  for (const std::string_view workload : workloads) {
    const ShiftResult r = shift(trainings, workload, steps, shifts, table, plot, out);
    if (workload == "digits_mlp") digits = r;
  }
  out.tables.push_back(table);
  out.plots.push_back(plot);
  out.measured = {{"cut", std::exp2(band_cuts[3].high)},
                  {"missed", ablation[0] - ablation[3]},
                  {"chance_at", std::exp2(-shifts.back())},
                  {"chance", digits.far},
                  {"begin_at", std::exp2(-14)},
                  {"begin", digits.plain - digits.shifted_14},
                  {"cured", digits.plain - digits.cured}};
  if (!input.quick) {
    out.measured.insert({{"ssd", std::exp2(band_cuts[1].high)},
                         {"fails_at", std::exp2(-16)},
                         {"fails", digits.shifted_16}});
  }
  out.as_expected = true;
  out.verdict = fmt::format(
      "with seed 0 all gradients below 2^-24 may be zero here ({} against {}); FP16 without a "
      "scale falls from "
      "{} to {} at a loss shift of 2^-{} (2^-14: {}), and the dynamic scale brings back {}.",
      points(ablation[3]), points(ablation[0]), points(digits.plain), points(digits.far),
      shifts.back(), points(digits.shifted_14), points(digits.cured));
  return out;
}

constexpr std::array<ExpectedFigure, 10> band_ablation_figures{{
    {"cut", "gradients below this are zero", "2^-24", 0x1p-24, 0x1p-24, true},
    {"missed", "accuracy lost without them", "0.6 %", any_smaller, 0.006},
    {"begin_at", "factor of a loss where FP16 begins to lose", "2^-14", 0x1p-14, 0x1p-14, true},
    {"begin", "accuracy that FP16 loses with this loss", "1 %", any_smaller, 0.01},
    {"fails_at", "factor of a loss where FP16 fails", "2^-16", 0x1p-16, 0x1p-16, true},
    {"fails", "accuracy of FP16 with this loss", "41 %", 0.3, 0.52},
    {"ssd", "published threshold for Multibox SSD", "2^-27", 0x1p-27, 0x1p-27, true},
    {"chance_at", "factor of a loss where FP16 only guesses", "2^-24", 0x1p-24, 0x1p-24, true},
    {"chance", "accuracy of FP16 with this loss", "11 %", 0.05, 0.2},
    {"cured", "accuracy lost with this loss and a dynamic scale", "0.6 %", any_smaller, 0.006},
}};

constexpr std::array<ExpectedFigure, 1> band_ablation_quick{{
    {"begin", "accuracy that FP16 loses with this loss", "2 %", any_smaller, 0.02},
}};

}  // namespace

extern const Experiment band_ablation{
    "band_ablation",
    "Which binades of the gradients does learning need, and how many can binary16 lose before it "
    "fails?",
    "With seed 0 all gradients below 2^-24 may go; FP16 without a loss scale fails from a loss "
    "2^-16 times as large on.",
    {"With seed 0 setting even all gradients below {cut} to zero costs the digits MLP at most "
     "{missed} of "
     "accuracy; FP16 without a loss scale loses at most {begin} of it where the loss is "
     "{begin_at} times as large, ends near {fails} at {fails_at} and at chance, {chance}, at "
     "{chance_at}; a dynamic loss scale cures it to within {cured}. That what lies below {ssd} "
     "is irrelevant was said of Multibox SSD (Micikevicius et al. 2018).",
     band_ablation_figures},
    &run_band_ablation,
    true,
    {"With seed 0 setting even all gradients below {cut} to zero costs the digits MLP at most "
     "{missed} of "
     "accuracy; FP16 without a loss scale loses at most {begin} of it where the loss is {begin_at} "
     "times as "
     "large and ends at chance, {chance}, at {chance_at}; a dynamic loss scale cures it to within "
     "{cured}.",
     band_ablation_quick}};

}  // namespace binade
