// SPDX-License-Identifier: Apache-2.0
//
// Question: which products of an FP8 training does Transformer Engine's autoswitch rule compute in
// BF16 instead, and are they the products that harm the training? The rule looks at the rounding of
// each operand: a product switches if more than 5 % of an operand's values become 0, or if the mean
// square of its errors exceeds 1e-4, which is an absolute figure.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runs/experiment.h"
#include "lib/runs/trainings.h"
#include "lib/runs/workloads.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

struct SwitchWay {
  std::string_view name, format;
  std::optional<AutoswitchOptions> rule;
  std::uint64_t seed = 0;
};
const std::array<SwitchWay, 6>& switch_ways() {
  static const std::array<SwitchWay, 6> ways{
      {{"BF16", "bfloat16", {}},
       {"FP8", "e4m3", {}},
       {"FP8, autoswitch", "e4m3", AutoswitchOptions{}},
       {"FP8, autoswitch by underflow alone", "e4m3", AutoswitchOptions{.mse = HUGE_VAL}},
       {"FP8, autoswitch by error alone", "e4m3", AutoswitchOptions{.underflow_percent = 100}},
       {"BF16, another seed", "bfloat16", {}, 1}}};
  return ways;
}

struct SwitchCase {
  std::string_view workload;
  std::int64_t steps, quick_steps;
};
constexpr std::array<SwitchCase, 3> switch_cases{
    {{"digits_mlp", 220, 44}, {"digits_tanh8", 220, 0}, {"char_transformer", 60, 0}}};

/// Numbers of all products and of switched products, per pass.
struct Switched {
  std::array<double, 3> products{}, switched{};

  double share(Pass pass) const {
    const auto i = static_cast<std::size_t>(pass);
    return products[i] > 0 ? switched[i] / products[i] : 0;
  }
};

Switched switched_in(const TrainingLog& log) {
  Switched out;
  for (const SwitchTally& tally : log.switches) {
    const auto i =
        static_cast<std::size_t>(std::ranges::find(pass_names, tally.gemm) - pass_names.begin());
    out.products[i] += static_cast<double>(tally.products);
    out.switched[i] += static_cast<double>(tally.switched);
  }
  return out;
}

void add_layers(Table& table, const SwitchCase& c, const TrainingLog& log,
                nlohmann::ordered_json& data) {
  for (const SwitchTally& tally : log.switches) {
    const double share = static_cast<double>(tally.switched) / static_cast<double>(tally.products);
    table.rows.push_back({std::string(c.workload), tally.layer, tally.gemm, percent(share),
                          fmt::format("{:.3g} %", tally.worst.underflow_percent),
                          fmt::format("{:.2g}", tally.worst.mse)});
    data.push_back({{"workload", c.workload},
                    {"layer", tally.layer},
                    {"product", tally.gemm},
                    {"switched", share},
                    {"worst_underflow_percent", tally.worst.underflow_percent},
                    {"worst_mse", tally.worst.mse}});
  }
}

/// Returns the share of switched forward products, layer after layer.
Series by_layer(const std::string& name, const TrainingLog& log) {
  Series out{.name = name};
  for (const SwitchTally& tally : log.switches) {
    if (tally.gemm != pass_names[0]) continue;
    out.x.push_back(static_cast<double>(out.x.size() + 1));
    out.y.push_back(100 * static_cast<double>(tally.switched) /
                    static_cast<double>(tally.products));
  }
  return out;
}

Outcome run_autoswitch_products(const ExperimentInput& input) {
  Outcome out;
  std::vector<SwitchCase> chosen;
  for (SwitchCase c : switch_cases) {
    if (input.quick) c.steps = c.quick_steps;
    if (c.steps == 0) continue;
    const std::string why = missing_data(c.workload);
    if (why.empty()) chosen.push_back(c);
    if (!why.empty()) input.print(fmt::format("{} left out: {}\n", c.workload, why));
  }
  const auto& ways = switch_ways();
  Trainings trainings(input, chosen.size() * ways.size());
  Table table{
      "FP8 trainings, operands with one scale per tensor",
      {"network", "products", "test loss", "from BF16", "switched: fprop", "dgrad", "wgrad"},
      {}};
  Table layers{"Under autoswitch, by layer and product",
               {"network", "layer", "product", "switched", "worst underflow", "worst mean square"},
               {}};
  Plot plot{.title = "Forward products that autoswitch sends to BF16",
            .x_label = "layer, from the input",
            .y_label = "% of a layer's products",
            .note =
                "Where the mean square of an operand's rounding errors passes 1e-4 its products "
                "leave FP8: here activations pass it as they grow, weights are too small to."};
  double plain = 0, ruled = 0, chance = 0, least_by_error = 1, dgrad_by_error = 0,
         dgrad_by_underflow = 0;
  for (const SwitchCase& c : chosen) {
    double base = 0;
    for (const SwitchWay& way : ways) {
      TrainingRecipe recipe =
          in_format(usual_recipe(c.workload, c.steps, way.seed), "native", std::string(way.format));
      recipe.autoswitch = way.rule;
      const TrainingLog log =
          trainings.run(fmt::format("{} {}", c.workload, way.name), c.workload, recipe);
      const Switched s = switched_in(log);
      if (&way == &ways[0]) base = log.test_loss;
      const double distance = log.test_loss / base - 1;
      double& most = way.seed != 0 ? chance : way.rule ? ruled : plain;
      if (way.seed != 0 || !way.rule || &way == &ways[2]) most = std::max(most, std::abs(distance));
      const auto share = [&](Pass pass) { return way.rule ? percent(s.share(pass)) : "-"; };
      table.rows.push_back({std::string(c.workload), std::string(way.name),
                            fmt::format("{:.4f}", log.test_loss),
                            fmt::format("{:+.2f} %", 100 * distance), share(Pass::fprop),
                            share(Pass::dgrad), share(Pass::wgrad)});
      out.data["runs"].push_back({{"workload", c.workload},
                                  {"products", way.name},
                                  {"test_loss", log.test_loss},
                                  {"of_bf16", distance},
                                  {"fprop", s.share(Pass::fprop)},
                                  {"dgrad", s.share(Pass::dgrad)},
                                  {"wgrad", s.share(Pass::wgrad)}});
      if (&way == &ways[2]) {
        add_layers(layers, c, log, out.data["layers"]);
        plot.series.push_back(by_layer(std::string(c.workload), log));
      }
      if (&way == &ways[3]) {
        dgrad_by_underflow = std::max(dgrad_by_underflow, s.share(Pass::dgrad));
      }
      if (&way == &ways[4]) {
        dgrad_by_error = std::max(dgrad_by_error, s.share(Pass::dgrad));
        least_by_error = std::min({least_by_error, s.share(Pass::fprop), s.share(Pass::wgrad)});
      }
    }
  }
  out.tables = {table, layers};
  out.plots = {plot};
  out.measured = {{"underflow", AutoswitchOptions().underflow_percent / 100},
                  {"mse", AutoswitchOptions().mse},
                  {"by_error", least_by_error},
                  {"dgrad_by_error", dgrad_by_error},
                  {"dgrad_by_underflow", dgrad_by_underflow},
                  {"plain", plain},
                  {"ruled", ruled},
                  {"chance", chance}};
  out.as_expected = true;
  out.verdict = fmt::format(
      "with seed 0, by its threshold of errors, autoswitch sends at least {} of the forward "
      "products and of "
      "the weight gradients to BF16 and at most {} of dgrad, by underflow at most {} of dgrad; "
      "FP8 ends up to {:.2g} % from BF16's test loss without it, up to {:.2g} % with it, another "
      "seed up to {:.2g} %.",
      percent(least_by_error), percent(dgrad_by_error), percent(dgrad_by_underflow), 100 * plain,
      100 * ruled, 100 * chance);
  return out;
}

constexpr std::array<ExpectedFigure, 8> autoswitch_products_figures{{
    {"underflow", "threshold of underflow", "5 %", 0.05, 0.05, true},
    {"mse", "threshold of the mean square error", "1e-4", 1e-4, 1e-4, true},
    {"by_error", "smallest share of fprop or wgrad switched by error", "34 %", 0.25, 0.45},
    {"dgrad_by_error", "largest share of dgrad switched by error", "0 %", 0, 0.01},
    {"dgrad_by_underflow", "largest share of dgrad switched by underflow", "28 %", 0.15, 0.4},
    {"plain", "largest distance of FP8's test loss from BF16's", "32 %", 0.2, 0.45},
    {"ruled", "largest distance of it with the rule", "6 %", 0, 0.15},
    {"chance", "largest distance of another seed's test loss", "15 %", 0.05, 0.25},
}};
constexpr std::array<ExpectedFigure, 5> autoswitch_products_quick{{
    {"by_error", "smallest share of fprop or wgrad switched by error", "30 %", 0.2, 0.4},
    {"dgrad_by_underflow", "largest share of dgrad switched by underflow", "0 %", 0, 0.05},
    {"plain", "largest distance of FP8's test loss from BF16's", "0.4 %", 0, 0.03},
    {"ruled", "largest distance of it with the rule", "2 %", 0, 0.05},
    {"chance", "largest distance of another seed's test loss", "20 %", 0.1, 0.3},
}};

constexpr std::string_view autoswitch_products_said =
    "Transformer Engine's rule switches a product where more than {underflow} of an operand's "
    "values become zero or the mean square of its errors passes {mse}. The second is absolute: "
    "with seed 0 it "
    "sends away at least {by_error} of a network's forward products and weight gradients, whose "
    "activations are of order one, and {dgrad_by_error} of dgrad, whose gradients and weights are "
    "small; underflow sends up to {dgrad_by_underflow} of dgrad. FP8's test losses lie up to "
    "{plain} from BF16's without the rule and up to {ruled} with it, those of another seed up to "
    "{chance}.";

}  // namespace

extern const Experiment autoswitch_products{
    "autoswitch_products",
    "Which products of an FP8 training does Transformer Engine's autoswitch send back to BF16?",
    "With seed 0 Transformer Engine's rule sends 34 to 92 % of FP8's forward products to BF16, "
    "because its threshold is absolute.",
    {autoswitch_products_said, autoswitch_products_figures},
    &run_autoswitch_products,
    true,
    {{}, autoswitch_products_quick}};

}  // namespace binade
