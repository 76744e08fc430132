// SPDX-License-Identifier: Apache-2.0
//
// Question: what do binary16 weights lose without a binary32 master copy, and what else saves it?
// An update is lost if the weight is at least 2^11 times as large (Micikevicius et al. 2018, 3.1),
// since it is then at most half an ulp of the weight. Small learning rates make small updates. The
// digits MLP is trained in binary16 (Apex's O2 and O3, without a loss scale, which its gradients do
// not need), with rounding to nearest, stochastic rounding (Gupta et al. 2015) and Kahan's
// compensation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/quantize.h"
#include "lib/runs/experiment.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

struct Way {
  std::string_view name;
  std::string_view level;
  UpdateRule update;
};
constexpr std::array<Way, 5> kept_ways{{
    {"binary32", "O0", UpdateRule::nearest},
    {"FP16, master weights (O2)", "O2", UpdateRule::nearest},
    {"FP16, no master (O3)", "O3", UpdateRule::nearest},
    {"FP16, no master, stochastic", "O3", UpdateRule::stochastic},
    {"FP16, no master, Kahan", "O3", UpdateRule::kahan},
}};

struct Result {
  double accuracy = 0, lost = 0, not_shown = 0, below = 0;
};

Result one(Trainings& trainings, const Way& way, double lr, std::int64_t steps) {
  const bool low = way.level != "O0";
  TrainingRecipe recipe = in_format(usual_recipe("digits_mlp", steps), std::string(way.level),
                                    low ? "binary16" : "binary32");
  recipe.optimizer.lr = lr;
  recipe.optimizer.update = way.update;
  recipe.scaler = "none";
  // The experiment is about weights, so the products are sums in float.
  recipe.products.accumulator = "reference";
  const TrainingLog log =
      trainings.run(fmt::format("{} lr {:g}", way.name, lr), "digits_mlp", recipe);
  const StepCounts sum = log.updates();
  const auto share = [&sum](std::uint64_t n) {
    return sum.asked == 0 ? 0 : static_cast<double>(n) / static_cast<double>(sum.asked);
  };
  return {log.test_accuracy, share(sum.lost), share(sum.not_shown), share(sum.below_2_11)};
}

/// Returns the smallest power of two 2^k for which binary16 rounds 1 + 2^-k to 1: a weight that is
/// 2^k times as large as its update loses it.
double lost_ratio() {
  int k = 0;
  for (; convert(bits_of(1 + std::ldexp(1.0, -k)), binary64, binary16).bits !=
         bits_of({false, 15, 0}, binary16);
       ++k) {
  }
  return std::exp2(k);
}

Outcome run_master_weights(const ExperimentInput& input) {
  Outcome out;
  const std::int64_t steps = input.quick ? 440 : 4400;
  const std::vector<double> rates =
      input.quick ? std::vector{5e-4, 0.1} : std::vector{2e-4, 5e-4, 0.1};
  Trainings trainings(input, kept_ways.size() * rates.size());
  Table accuracy{
      fmt::format("Test accuracy of the digits MLP after {} steps of SGD with momentum 0.9", steps),
      {"weights"},
      {}};
  Table lost{"Share of the non-zero updates that are lost: nothing keeps them", {"weights"}, {}};
  Table not_shown{
      "Share of the updates that master weights or Kahan's compensation keep and that "
      "did not change the FP16 weight at once",
      {"weights"},
      {}};
  for (const double lr : rates) {
    accuracy.columns.push_back(fmt::format("lr {:g}", lr));
    lost.columns.push_back(fmt::format("lr {:g}", lr));
    not_shown.columns.push_back(fmt::format("lr {:g}", lr));
  }
  Plot plot{.title = "What a small learning rate costs without master weights",
            .x_label = "learning rate",
            .y_label = "test accuracy, %",
            .x_axis = Axis::log10,
            .note =
                "Small rates make small updates; rounding to nearest drops those below half an "
                "ulp of the weight. Masters, stochastic rounding and Kahan's sum keep them."};
  std::array<std::vector<Result>, kept_ways.size()> results;
  for (std::size_t i = 0; i < kept_ways.size(); ++i) {
    const std::string name(kept_ways[i].name);
    accuracy.rows.push_back({name});
    lost.rows.push_back({name});
    const bool holds = kept_ways[i].level == "O2" || kept_ways[i].update == UpdateRule::kahan;
    if (holds) not_shown.rows.push_back({name});
    Series curve{.name = name};
    for (const double lr : rates) {
      const Result r = one(trainings, kept_ways[i], lr, steps);
      results[i].push_back(r);
      accuracy.rows.back().push_back(fmt::format("{:.2f} %", 100 * r.accuracy));
      lost.rows.back().push_back(percent(r.lost));
      if (holds) not_shown.rows.back().push_back(percent(r.not_shown));
      curve.x.push_back(lr);
      curve.y.push_back(100 * r.accuracy);
      out.data["runs"].push_back({{"weights", name},
                                  {"lr", lr},
                                  {"test_accuracy", r.accuracy},
                                  {"updates_lost", r.lost},
                                  {"updates_not_shown", r.not_shown},
                                  {"updates_below_2_11", r.below}});
    }
    plot.series.push_back(curve);
  }
  out.tables = {accuracy, lost, not_shown};
  out.plots = {plot};
  const auto at = [&results](std::size_t way, std::size_t rate) {
    return results[way][rate].accuracy;
  };
  const std::size_t last = rates.size() - 1;
  out.measured = {{"ratio", lost_ratio()},
                  {"steps", static_cast<double>(steps)},
                  {"small", rates[0]},
                  {"single", at(0, 0)},
                  {"without", at(2, 0)},
                  {"lost", results[2][0].lost},
                  {"master_lost", results[1][0].lost},
                  {"single_lost", results[0][0].lost},
                  {"not_shown", results[1][0].not_shown},
                  {"large", rates[last]},
                  {"harmless", at(0, last) - at(2, last)},
                  {"cured", at(0, 0) - std::min({at(1, 0), at(3, 0), at(4, 0)})}};
  out.as_expected = true;
  out.verdict = fmt::format(
      "with seed 0, at lr {:g}, FP16 without masters ends at {:.2f} % where binary32 ends at "
      "{:.2f} %, {} of its "
      "updates lost; with masters {:.2f} %, stochastic rounding {:.2f} %, Kahan {:.2f} %; at lr "
      "{:g} nothing is lost that this training needs ({:.2f} against {:.2f} %).",
      rates[0], 100 * at(2, 0), 100 * at(0, 0), percent(results[2][0].lost), 100 * at(1, 0),
      100 * at(3, 0), 100 * at(4, 0), rates[last], 100 * at(2, last), 100 * at(0, last));
  return out;
}

constexpr std::array<ExpectedFigure, 12> master_weights_figures{{
    {"ratio", "weight over update from which the update is lost", "2^11", 2048, 2048},
    {"steps", "steps", "4400", 4400, 4400, true},
    {"small", "a small lr", "2e-4", 2e-4, 2e-4, true},
    {"single", "accuracy in binary32", "79 %", 0.74, 0.84},
    {"without", "accuracy without masters", "33 %", 0.25, 0.45},
    {"lost", "updates lost without masters", "98 %", 0.95, 1},
    {"master_lost", "updates lost with masters", "4 %", 0, 0.1},
    {"single_lost", "updates lost in binary32", "4 %", 0, 0.1},
    {"not_shown", "updates that masters took and the FP16 copy did not show", "86 %", 0.75, 0.95},
    {"large", "a large lr", "0.1", 0.1, 0.1, true},
    {"harmless", "accuracy lost without masters at the large lr", "1 %", any_smaller, 0.01},
    {"cured", "accuracy lost with masters, stochastic rounding or Kahan", "2 %", any_smaller, 0.02},
}};

constexpr std::array<ExpectedFigure, 8> master_weights_quick{{
    {"steps", "steps", "440", 440, 440, true},
    {"small", "a small lr", "5e-4", 5e-4, 5e-4, true},
    {"single", "accuracy in binary32", "41 %", 0.36, 0.46},
    {"without", "accuracy without masters", "24 %", 0.15, 0.33},
    {"lost", "updates lost without masters", "92 %", 0.85, 0.97},
    {"master_lost", "updates lost with masters", "3 %", 0, 0.06},
    {"single_lost", "updates lost in binary32", "3 %", 0, 0.06},
    {"not_shown", "updates that masters took and the FP16 copy did not show", "83 %", 0.75, 0.9},
}};

}  // namespace

constexpr std::string_view master_weights_said =
    "An update is lost if its weight is {ratio} times as large or more: with seed 0, after {steps} "
    "steps at lr "
    "{small}, the digits MLP ends at {without} instead of binary32's {single}, {lost} of its "
    "updates lost; at lr {large} nothing that this training needs is lost (at most {harmless} of "
    "accuracy). Micikevicius et al. 2018 lost most of the accuracy of a speech model. Stochastic "
    "rounding restores it (Gupta et al. 2015), so do masters and Kahan's compensation, to within "
    "{cured}. Masters lose {master_lost} of the updates, as binary32 does ({single_lost}), and "
    "hold {not_shown} more that the FP16 copy does not show at once.";

extern const Experiment master_weights{
    "master_weights",
    "What do binary16 weights lose without a binary32 master copy, and what else saves them?",
    "With seed 0, without master weights, 78.9 % of the test rows right becomes 33.1 % at lr 2e-4; "
    "stochastic rounding and Kahan's sum cure it too.",
    {master_weights_said, master_weights_figures},
    &run_master_weights,
    true,
    {{}, master_weights_quick}};

}  // namespace binade
