// SPDX-License-Identifier: Apache-2.0
//
// Question: what does a loss scale for each layer (Zhao et al. 2019, ada-loss) save that one scale
// for all layers does not? A deep network is trained under binary16 autocast with smaller and
// smaller losses: without a scale, with ada-loss's layer scales, with the fixed scale 2^8, with
// both, and with PyTorch's dynamic scale. ada-loss scales the gradients of activations layer by
// layer in the backward pass and takes the scale out of the gradients of weights, here in binary32.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runs/experiment.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

constexpr std::string_view network = "digits_tanh8";

struct ScaleWay {
  std::string_view name, scaler;
  ScalerParameters parameters{};
};
const std::array<ScaleWay, 5>& scale_ways() {
  static const std::array<ScaleWay, 5> ways{
      {{"no scale", "none"},
       {"ada-loss", "adaptive"},
       {"2^8 for all", "static:256"},
       {"2^8 and ada-loss", "adaptive", {{"init_scale", 256}, {"product_cap", 0x1p18}}},
       {"one scale (PyTorch)", "torch"}}};
  return ways;
}
constexpr std::size_t way_count = 5;

/// Numbers of zeros and of all values in the gradients of activations, counted before unscaling.
struct Died {
  std::vector<std::string> layers;
  std::vector<double> zeros, values;  ///< one per layer

  double share() const {
    double zero = 0, all = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) zero += zeros[i], all += values[i];
    return all > 0 ? zero / all : 0;
  }
};

Hooks<float> counting_zeros(Died& died) {
  Hooks<float> hooks;
  hooks.after_backward = [&died](const StepView<float>& view) {
    const auto& watched = view.tape.watched();
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (died.layers.size() == i) {
        died.layers.push_back(watched[i].first);
        died.zeros.push_back(0);
        died.values.push_back(0);
      }
      for (const float x : view.tape.gradient(watched[i].second)) {
        died.zeros[i] += x == 0 ? 1 : 0;
        died.values[i] += 1;
      }
    }
  };
  return hooks;
}

struct ScaleRun {
  TrainingLog log;
  Died died;
};

ScaleRun run_way(Trainings& trainings, const ScaleWay& way, int shift, std::int64_t steps) {
  TrainingRecipe recipe = in_format(usual_recipe(network, steps), "native", "binary16");
  recipe.products.accumulator = "reference";  // the experiment is about range, not about sums
  recipe.loss_shift = shift;
  recipe.scaler = way.scaler;
  recipe.scaler_parameters = way.parameters;
  ScaleRun out;
  out.log = trainings.run(fmt::format("{} shift {}", way.name, shift), network, recipe,
                          counting_zeros(out.died));
  return out;
}

/// Returns a table of the share of zeros in the gradient of each layer's output.
Table layer_table(const std::array<ScaleRun, way_count>& runs, int shift) {
  Table table{fmt::format("Activation gradients that are zero, by layer, loss 2^-{}", shift),
              {"layer"},
              {}};
  for (const ScaleWay& way : scale_ways()) table.columns.emplace_back(way.name);
  const std::vector<std::string>& layers = runs[0].died.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    table.rows.push_back({layers[i]});
    for (const ScaleRun& run : runs) {
      table.rows.back().push_back(percent(run.died.zeros[i] / run.died.values[i]));
    }
  }
  return table;
}

Table product_table(const std::array<ScaleRun, way_count>& runs, int shift) {
  Table table{
      fmt::format("Scale of the gradient that a layer passed on in the last step, loss 2^-{}",
                  shift),
      {"layer, from the loss", std::string(scale_ways()[1].name),
       std::string(scale_ways()[3].name)},
      {}};
  const std::vector<LayerScale>&capped = runs[1].log.layer_scales, &free = runs[3].log.layer_scales;
  for (std::size_t i = 0; i < capped.size(); ++i) {
    table.rows.push_back({capped[i].layer, fmt::format("2^{:g}", std::log2(capped[i].product)),
                          fmt::format("2^{:g}", std::log2(free[i].product))});
  }
  return table;
}

Outcome run_adaptive_scales(const ExperimentInput& input) {
  Outcome out;
  const std::int64_t steps = input.quick ? 110 : 440;
  const std::vector<int> shifts = input.quick ? std::vector{0, 14} : std::vector{0, 10, 14, 18, 22};
  Trainings trainings(input, scale_ways().size() * shifts.size());
  Table table{fmt::format("{} steps of eight tanh layers in binary16", steps),
              {"loss times", "scale", "test accuracy", "dAct zero", "skipped"},
              {}};
  Plot plot{
      .title = "What scales save as the loss becomes smaller",
      .x_label = "loss shift k: the backward pass sees 2^-k times the loss",
      .y_label = "test accuracy, %",
      .note =
          "ada-loss raises gradients layer by layer, at most to its cap; what dies before the "
          "first layer it meets is lost."};
  for (const ScaleWay& way : scale_ways()) plot.series.push_back({.name = std::string(way.name)});
  std::array<ScaleRun, way_count> runs;
  std::array<double, way_count> at_14{}, at_22{}, zeros_at_14{}, plain{};
  for (const int shift : shifts) {
    for (std::size_t i = 0; i < scale_ways().size(); ++i) {
      runs[i] = run_way(trainings, scale_ways()[i], shift, steps);
      const TrainingLog& log = runs[i].log;
      const double zero = runs[i].died.share();
      table.rows.push_back({fmt::format("2^-{}", shift), std::string(scale_ways()[i].name),
                            fmt::format("{:.2f} %", 100 * log.test_accuracy), percent(zero),
                            std::to_string(log.skipped)});
      plot.series[i].x.push_back(shift);
      plot.series[i].y.push_back(100 * log.test_accuracy);
      out.data["runs"].push_back({{"shift", shift},
                                  {"scale", scale_ways()[i].name},
                                  {"test_accuracy", log.test_accuracy},
                                  {"zero", zero},
                                  {"skipped", log.skipped}});
      if (shift == 0) plain[i] = log.test_accuracy;
      if (shift == 22) at_22[i] = log.test_accuracy;
      if (shift != 14) continue;
      at_14[i] = log.test_accuracy;
      zeros_at_14[i] = zero;
    }
    if (shift == 14) out.tables = {layer_table(runs, shift), product_table(runs, shift)};
  }
  out.tables.insert(out.tables.begin(), table);
  out.plots = {plot};
  out.measured = {
      {"shift", std::exp2(-14)},
      {"zeros_none", zeros_at_14[0]},
      {"zeros_ada", zeros_at_14[1]},
      {"none", at_14[0]},
      {"ada", at_14[1]},
      {"init", scale_ways()[3].parameters.at("init_scale")},
      {"fixed", at_14[2]},
      {"torch", at_14[4]},
      {"harmless", *std::ranges::max_element(plain) - *std::ranges::min_element(plain)}};
  if (!input.quick) {
    out.measured.insert({{"cap", scale_ways()[3].parameters.at("product_cap")},
                         {"far", std::exp2(-22)},
                         {"fixed_far", at_22[2]},
                         {"both_far", at_22[3]},
                         {"torch_far", at_22[4]}});
  }
  out.as_expected = true;
  out.verdict = fmt::format(
      "with seed 0 and a loss 2^-14 times as large {} of the activation gradients are zero without "
      "a scale, "
      "{} under ada-loss's layer scales and {} under one scale; the accuracies are {:.2f}, "
      "{:.2f} and {:.2f} %.",
      percent(zeros_at_14[0]), percent(zeros_at_14[1]), percent(zeros_at_14[4]), 100 * at_14[0],
      100 * at_14[1], 100 * at_14[4]);
  return out;
}

constexpr std::array<ExpectedFigure, 14> adaptive_scales_figures{{
    {"harmless", "best accuracy less the worst, loss as it is", "3 %", any_smaller, 0.03},
    {"shift", "factor of a smaller loss", "2^-14", 0x1p-14, 0x1p-14, true},
    {"zeros_none", "zeros among its activation gradients, no scale", "89 %", 0.8, 0.95},
    {"zeros_ada", "zeros among its activation gradients, ada-loss", "4 %", 0.01, 0.1},
    {"none", "its accuracy without a scale", "8 %", 0.05, 0.2},
    {"ada", "its accuracy under ada-loss", "61 %", 0.4, 0.8},
    {"init", "a fixed scale for all layers", "2^8", 256, 256, true},
    {"fixed", "its accuracy under the fixed scale", "97 %", 0.93, 1},
    {"torch", "its accuracy under PyTorch's one scale", "97 %", 0.93, 1},
    {"far", "factor of a still smaller loss", "2^-22", 0x1p-22, 0x1p-22, true},
    {"cap", "largest product of the fixed and layer scales", "2^18", 0x1p18, 0x1p18, true},
    {"fixed_far", "its accuracy under the fixed scale", "8 %", 0.05, 0.2},
    {"both_far", "its accuracy under the fixed scale and ada-loss", "61 %", 0.4, 0.8},
    {"torch_far", "its accuracy under PyTorch's one scale", "97 %", 0.93, 1},
}};
constexpr std::array<ExpectedFigure, 7> adaptive_scales_quick{{
    {"harmless", "best accuracy less the worst, loss as it is", "1 %", any_smaller, 0.01},
    {"zeros_none", "zeros among its activation gradients, no scale", "90 %", 0.8, 0.95},
    {"zeros_ada", "zeros among its activation gradients, ada-loss", "2 %", 0.005, 0.06},
    {"none", "its accuracy without a scale", "12 %", 0.05, 0.2},
    {"ada", "its accuracy under ada-loss", "10 %", 0.05, 0.2},
    {"fixed", "its accuracy under the fixed scale", "67 %", 0.6, 0.8},
    {"torch", "its accuracy under PyTorch's one scale", "68 %", 0.6, 0.8},
}};

constexpr std::string_view adaptive_scales_said =
    "With seed 0 little. With the loss as it is all ways end within {harmless} of each other. "
    "Eight tanh "
    "layers whose loss is {shift} times as large lose {zeros_none} of their activation gradients "
    "without a scale and {zeros_ada} under ada-loss, and accuracy goes from {none} to {ada}: what "
    "the loss's own gradient loses no layer scale brings back. {init} for all, fixed, ends at "
    "{fixed}, PyTorch's one scale at {torch}. At {far}, where {init} is too little ({fixed_far}), "
    "ada-loss beside it, with products up to {cap}, ends at {both_far}, PyTorch's scale at "
    "{torch_far}.";
constexpr std::string_view adaptive_scales_quickly_said =
    "With seed 0 little. With the loss as it is all ways end within {harmless} of each other. "
    "Eight tanh "
    "layers whose loss is {shift} times as large lose {zeros_none} of their activation gradients "
    "without a scale and {zeros_ada} under ada-loss, and accuracy stays at chance ({none}, "
    "{ada}): what the loss's own gradient loses no layer scale brings back. {init} for all, "
    "fixed, ends at {fixed}, PyTorch's one scale at {torch}.";

}  // namespace

extern const Experiment adaptive_scales{
    "adaptive_scales",
    "What does a loss scale of each layer's own save that one scale for all does not?",
    "With seed 0 a scale for each layer brings back dying gradients (88.8 % to 4.4 %) but not what "
    "the loss's own gradient lost, which one scale for all does.",
    {adaptive_scales_said, adaptive_scales_figures},
    &run_adaptive_scales,
    true,
    {adaptive_scales_quickly_said, adaptive_scales_quick}};

}  // namespace binade
