// SPDX-License-Identifier: Apache-2.0
//
// Question: with which static loss scales does a training work? Networks are trained under binary16
// autocast with scales from 1 to 2^24; for each the shares of activation gradients that are zero,
// subnormal or not finite are counted.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lib/runs/experiment.h"
#include "lib/runs/tensor_dump.h"
#include "lib/runs/text_corpus.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

struct SweptCase {
  std::string_view workload;
  std::int64_t steps;
  int loss_shift;
};

/// Numbers of activation gradients of one training, in every tenth step.
struct Seen {
  double zeros = 0, values = 0, subnormal = 0, infinite = 0;
};

Hooks<float> watching(Seen& seen) {
  Hooks<float> hooks;
  hooks.after_backward = [&seen](const StepView<float>& view) {
    if (view.step % 10 != 0) return;
    for (const auto& [name, var] : view.tape.watched()) {
      for (const float x : view.tape.gradient(var)) {
        seen.values += 1;
        seen.zeros += x == 0 ? 1 : 0;
        seen.subnormal += x != 0 && std::abs(x) < 0x1p-14F ? 1 : 0;
        seen.infinite += std::isfinite(x) ? 0 : 1;
      }
    }
  };
  return hooks;
}

struct Swept {
  std::vector<double> accuracy;
  std::vector<std::int64_t> skipped;
};

Swept sweep(Trainings& trainings, const SweptCase& c, const std::vector<int>& scales, Table& table,
            std::vector<Series>& accuracy, std::vector<Series>& zeros, Outcome& out) {
  Swept result;
  const std::string name = c.loss_shift == 0
                               ? std::string(c.workload)
                               : fmt::format("{}, loss 2^-{}", c.workload, c.loss_shift);
  accuracy.push_back({.name = name});
  zeros.push_back({.name = name});
  for (const int k : scales) {
    TrainingRecipe recipe = in_format(usual_recipe(c.workload, c.steps), "native", "binary16");
    recipe.products.accumulator = "reference";  // the experiment is about range, not about sums
    recipe.loss_shift = c.loss_shift;
    recipe.scaler = fmt::format("static:{}", std::ldexp(1.0, k));
    recipe.skip_overflow = true;
    Seen seen;
    const TrainingLog log =
        trainings.run(fmt::format("{} scale 2^{}", name, k), c.workload, recipe, watching(seen));
    result.accuracy.push_back(log.test_accuracy);
    result.skipped.push_back(log.skipped);
    const auto share = [&seen](double n) { return seen.values > 0 ? n / seen.values : 0; };
    table.rows.push_back({name, fmt::format("2^{}", k),
                          fmt::format("{:.2f} %", 100 * log.test_accuracy),
                          fmt::format("{} of {}", log.skipped, c.steps), percent(share(seen.zeros)),
                          percent(share(seen.subnormal)), percent(share(seen.infinite))});
    out.data["runs"].push_back({{"workload", c.workload},
                                {"loss_shift", c.loss_shift},
                                {"scale_log2", k},
                                {"test_accuracy", log.test_accuracy},
                                {"skipped", log.skipped},
                                {"zero", share(seen.zeros)},
                                {"subnormal", share(seen.subnormal)},
                                {"infinite", share(seen.infinite)}});
    accuracy.back().x.push_back(std::ldexp(1.0, k));
    accuracy.back().y.push_back(100 * log.test_accuracy);
    zeros.back().x.push_back(std::ldexp(1.0, k));
    zeros.back().y.push_back(100 * share(seen.zeros));
  }
  return result;
}

Outcome run_scale_sweep(const ExperimentInput& input) {
  Outcome out;
  const std::int64_t steps = input.quick ? 110 : 440;
  std::vector<SweptCase> cases{{"digits_mlp", steps, 0}, {"digits_mlp", steps, 20}};
  if (!input.quick) {
    cases.push_back({"digits_tanh8", steps, 0});
    if (has_licence_text()) cases.push_back({"char_transformer", 150, 0});
  }
  const std::vector<int> scales = input.quick
                                      ? std::vector{0, 8, 16, 20, 24}
                                      : std::vector{0, 3, 7, 8, 10, 12, 15, 16, 18, 20, 22, 24};
  Trainings trainings(input, cases.size() * scales.size() + 1);
  Table table{"Static scales, steps with an overflow skipped",
              {"network", "scale", "test accuracy", "skipped", "dAct zero", "dAct subnormal",
               "dAct not finite"},
              {}};
  Plot accuracy{
      .title = "Static loss scales under binary16",
      .x_label = "loss scale",
      .y_label = "test accuracy, %",
      .x_axis = Axis::log2,
      .note =
          "A valley on the left where gradients die (seen where the loss is 2^-20 times as "
          "large), a flat roof, and a cliff where scaled gradients overflow and every "
          "step is skipped."};
  Plot zeros{.title = "Activation gradients that are zero",
             .x_label = "loss scale",
             .y_label = "% of all values, zeros of ReLU included",
             .x_axis = Axis::log2,
             .note = "What the scale brings back."};
  std::vector<Swept> swept;
  for (const SweptCase& c : cases) {
    swept.push_back(sweep(trainings, c, scales, table, accuracy.series, zeros.series, out));
  }
  TrainingRecipe unchecked = in_format(usual_recipe("digits_mlp", steps), "native", "binary16");
  unchecked.products.accumulator = "reference";
  unchecked.scaler = fmt::format("static:{}", std::ldexp(1.0, scales.back()));
  const bool diverges = trainings.run("unchecked", "digits_mlp", unchecked).not_finite;
  out.data["unchecked_overflow_gives_nan"] = diverges;
  out.tables = {table};
  out.plots = {accuracy, zeros};
  const std::size_t last = scales.size() - 1;
  const auto best = [](const Swept& s) { return *std::ranges::max_element(s.accuracy); };
  const std::size_t cliff =
      static_cast<std::size_t>(std::ranges::find(scales, 20) - scales.begin());
  const auto skipped = [&swept, steps](std::size_t i) {
    return static_cast<double>(swept[0].skipped[i]) / static_cast<double>(steps);
  };
  out.measured = {{"flat", best(swept[0]) - swept[0].accuracy[0]},
                  {"cliff", std::exp2(scales[cliff])},
                  {"skipped", skipped(cliff)},
                  {"beyond", std::exp2(scales[last])},
                  {"all", skipped(last)},
                  {"shift", std::exp2(-cases[1].loss_shift)},
                  {"unscaled", swept[1].accuracy[0]},
                  {"scaled", best(swept[1])}};
  out.as_expected = diverges;
  out.verdict = fmt::format(
      "digits MLP, seed 0: scale 1 is as good as any ({:.2f} of {:.2f} %), 2^{} skips {} of {} "
      "steps; with "
      "a loss 2^-20 times as large scale 1 gives {:.2f} % and the best scale {:.2f} %; the same "
      "overflow with the check off leaves {} weights.",
      100 * swept[0].accuracy[0], 100 * best(swept[0]), scales[last], swept[0].skipped[last], steps,
      100 * swept[1].accuracy[0], 100 * best(swept[1]), diverges ? "NaN" : "finite");
  return out;
}

constexpr std::array<ExpectedFigure, 8> scale_sweep_figures{{
    {"flat", "accuracy of the best scale less that of scale 1", "1 %", any_smaller, 0.01},
    {"cliff", "a scale at the cliff", "2^20", 0x1p20, 0x1p20, true},
    {"skipped", "steps skipped at the scale at the cliff", "93 %", 0.8, 1},
    {"beyond", "a scale beyond the cliff", "2^24", 0x1p24, 0x1p24, true},
    {"all", "steps skipped at the scale beyond the cliff", "100 %", 1, 1},
    {"shift", "factor of a smaller loss", "2^-20", 0x1p-20, 0x1p-20, true},
    {"unscaled", "accuracy with the smaller loss without a scale", "11 %", 0.05, 0.2},
    {"scaled", "accuracy with the smaller loss and the best scale", "98 %", 0.97, 1},
}};

constexpr std::array<ExpectedFigure, 2> scale_sweep_quick{{
    {"skipped", "steps skipped at the scale at the cliff", "73 %", 0.6, 0.9},
    {"scaled", "accuracy with the smaller loss and the best scale", "95 %", 0.92, 0.98},
}};

}  // namespace

constexpr std::string_view scale_sweep_said =
    "A flat roof, then a cliff where amax times the scale exceeds the largest binary16 number: "
    "with "
    "seed 0 no scale gains the digits MLP more than {flat} of accuracy over a scale of one; at "
    "{cliff} "
    "about {skipped} of the steps are skipped, at {beyond} {all}. With a loss {shift} times as "
    "large training without a scale ends at chance, {unscaled}, with the best one at {scaled}. "
    "Scales are powers of two: multiplying by them is exact where nothing under- or overflows. "
    "The overflow unchecked leaves NaN weights.";

extern const Experiment scale_sweep{
    "scale_sweep",
    "Which static loss scales serve, and what happens at either end?",
    "With seed 0 scales from 1 to 2^16 serve alike, 2^22 skips every step, and 2^7 saves what a "
    "loss 2^-20 times as large broke.",
    {scale_sweep_said, scale_sweep_figures},
    &run_scale_sweep,
    true,
    {{}, scale_sweep_quick}};

}  // namespace binade
