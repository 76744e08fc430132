// SPDX-License-Identifier: Apache-2.0
//
// Question: how small do gradients become while a network learns, and which of them would binary16
// keep? Networks are trained in binary32; in about 44 steps of each training the gradients of
// activations and weights are counted per binade: early (in the first tenth of the steps), late (in
// the last tenth), and along the run, layer by layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "experiments/binade_plot.h"
#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "lib/runs/experiment.h"
#include "lib/runs/tensor_dump.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

constexpr std::array<TensorRole, 2> roles{TensorRole::d_act, TensorRole::d_weight};

/// What binary16 would do with gradients: shares of the non-zero values, and, of lost_l2, of the L2
/// norm.
struct Shares {
  double below_27 = 0, band = 0, rne_zero = 0, subnormal = 0, lost_l2 = 0;
};

Shares shares_of(const RangeSummary& s) {
  std::uint64_t below = 0, band = 0;
  for (const auto& [exponent, row] : s.binades) {
    below += exponent < -27 ? row.total() : 0;
    band += exponent >= -27 && exponent < -24 ? row.total() : 0;
  }
  const Fates fate = fates(s, binary16, 0);
  const double nonzero = static_cast<double>(std::max<std::uint64_t>(1, s.nonzero()));
  const auto share = [nonzero](std::uint64_t n) { return static_cast<double>(n) / nonzero; };
  const std::optional<Losses> lost = losses(s, binary16, 0);
  return {share(below), share(band), share(fate.to_zero), share(fate.subnormal),
          lost ? lost->l2 : 0};
}

/// Summaries of the gradients of the first and of the last tenth of the steps.
struct Phases {
  RangeSummary early, late;
};

/// The gradients of one training, counted; each array is indexed as `roles`.
struct Counted {
  std::array<Phases, 2> all;                                          ///< all layers together
  std::array<std::vector<std::pair<std::string, Phases>>, 2> layers;  ///< in the network's order
  std::array<Series, 2> over_time;                                    ///< rne_zero by step

  Phases& layer(std::size_t role, const std::string& name) {
    const auto at = std::ranges::find(layers[role], name, [](const auto& l) { return l.first; });
    return at != layers[role].end() ? at->second : layers[role].emplace_back(name, Phases{}).second;
  }
};

struct RangeCase {
  std::string_view workload;
  std::int64_t steps, quick_steps;
};
constexpr std::array<RangeCase, 5> range_cases{{{"digits_mlp", 440, 220},
                                                {"digits_mlp", 4400, 0},
                                                {"digits_tanh8", 440, 0},
                                                {"fashion_cnn", 200, 0},
                                                {"char_transformer", 300, 0}}};

RangeSummary summary_of(const std::vector<float>& values) {
  RangeCounter counter({});
  counter.add(std::as_bytes(std::span(values)), *find_dtype("F32"));
  return counter.finish();
}

Hooks<float> counting(Counted& to, std::int64_t steps) {
  Hooks<float> hooks;
  hooks.after_backward = [&to, steps](const StepView<float>& view) {
    const std::int64_t every = std::max<std::int64_t>(1, steps / 44);
    if (view.step % every != 0) return;
    const auto add = [&view, steps](Phases& phases, const RangeSummary& counts) {
      if (view.step < steps / 10) merge(phases.early, counts);
      if (view.step >= steps - steps / 10) merge(phases.late, counts);
    };
    std::array<RangeSummary, 2> now;
    visit_after_backward(view, [&](const std::string& layer, TensorRole role, const Shape&,
                                   const std::vector<float>& values) {
      const auto i = static_cast<std::size_t>(std::ranges::find(roles, role) - roles.begin());
      if (i == roles.size()) return;
      const RangeSummary counts = summary_of(values);
      add(to.layer(i, layer), counts);
      merge(now[i], counts);
    });
    for (std::size_t i = 0; i < roles.size(); ++i) {
      add(to.all[i], now[i]);
      to.over_time[i].x.push_back(static_cast<double>(view.step));
      to.over_time[i].y.push_back(100 * shares_of(now[i]).rne_zero);
    }
  };
  return hooks;
}

nlohmann::ordered_json figures(const Shares& s) {
  return {{"below_2_27", s.below_27},
          {"band_27_24", s.band},
          {"rne_zero", s.rne_zero},
          {"subnormal", s.subnormal},
          {"lost_l2", s.lost_l2}};
}

void add_row(Table& table, const std::string& name, std::string_view phase, TensorRole role,
             const Shares& s, nlohmann::ordered_json& data) {
  table.rows.push_back({name, std::string(phase), std::string(tensor_role_name(role)),
                        percent(s.below_27), percent(s.band), percent(s.rne_zero),
                        percent(s.subnormal), percent(s.lost_l2)});
  data.push_back({{"run", name}, {"phase", phase}, {"role", tensor_role_name(role)}});
  data.back().update(figures(s));
}

/// Adds a row per layer to the table and the data; layers that lose nothing are left out of the
/// table.
void add_layers(Table& table, const std::string& name, const Counted& counted,
                nlohmann::ordered_json& data) {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    for (const auto& [layer, phases] : counted.layers[i]) {
      const Shares early = shares_of(phases.early);
      const Shares late = shares_of(phases.late);
      data.push_back({{"run", name},
                      {"layer", layer},
                      {"role", tensor_role_name(roles[i])},
                      {"early", figures(early)},
                      {"late", figures(late)}});
      if (early.rne_zero == 0 && late.rne_zero == 0) continue;
      table.rows.push_back({name, layer, std::string(tensor_role_name(roles[i])),
                            percent(early.rne_zero), percent(late.rne_zero), percent(early.lost_l2),
                            percent(late.lost_l2)});
    }
  }
}

Outcome run_training_ranges(const ExperimentInput& input) {
  Outcome out;
  Table table{"Shares of non-zero gradients in a binary32 training, and of their norm",
              {"training", "steps", "role", "< 2^-27", "[2^-27, 2^-24)", "to zero in FP16",
               "FP16 subnormal", "lost L2"},
              {}};
  Table layers{
      "To zero in FP16 by layer, early and late (first and last tenth of the steps); layers "
      "that lose nothing are left out",
      {"training", "layer", "role", "values, early", "values, late", "L2 norm, early",
       "L2 norm, late"},
      {}};
  std::vector<Plot> binades;
  Plot plot{.title = "Gradients that FP16 rounds to zero at scale 1",
            .x_label = "share of the training, %",
            .y_label = "% of non-zero values",
            .note =
                "Each curve is one training in binary32: dAct are gradients of activations, dW "
                "of weights. Confident networks have small gradients."};
  std::size_t count = 0;
  for (const RangeCase& c : range_cases) {
    const bool runs = !input.quick || c.quick_steps > 0;
    count += runs && missing_data(c.workload).empty() ? 1 : 0;
  }
  Trainings trainings(input, count);
  bool grows = true;
  bool weights_less = true;
  double late_digits = 0;
  const auto left_out = [&input](const RangeCase& c) {
    const std::string why = missing_data(c.workload);
    if (!why.empty()) input.print(fmt::format("{} left out: {}\n", c.workload, why));
    return !why.empty();
  };
  for (const RangeCase& c : range_cases) {
    const std::int64_t steps = input.quick ? c.quick_steps : c.steps;
    if (steps == 0 || left_out(c)) continue;
    const std::string name = fmt::format("{} ({})", c.workload, steps);
    Counted counted;
    const TrainingLog log =
        trainings.run(name, c.workload, usual_recipe(c.workload, steps), counting(counted, steps));
    input.print(fmt::format("{}: accuracy {} in binary32\n", name, percent(log.test_accuracy)));
    std::array<Shares, 2> early, late;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      early[i] = shares_of(counted.all[i].early);
      late[i] = shares_of(counted.all[i].late);
      add_row(table, name, "first 10 %", roles[i], early[i], out.data["shares"]);
      add_row(table, name, "last 10 %", roles[i], late[i], out.data["shares"]);
      Series& series = counted.over_time[i];
      series.name = fmt::format("{} {}", name, tensor_role_name(roles[i]));
      for (double& x : series.x) x = 100 * x / static_cast<double>(steps);
      plot.series.push_back(series);
    }
    add_layers(layers, name, counted, out.data["layers"]);
    Plot& where = binades.emplace_back(binade_plot(fmt::format("Where {}'s gradients lie", name)));
    for (std::size_t i = 0; i < roles.size(); ++i) {
      add_binades(where, fmt::format("{}, early", tensor_role_name(roles[i])),
                  counted.all[i].early);
      add_binades(where, fmt::format("{}, late", tensor_role_name(roles[i])), counted.all[i].late);
    }
    if (c.workload == "digits_mlp") {
      grows = grows && late[0].rne_zero > 2 * early[0].rne_zero;
      weights_less = weights_less && late[1].rne_zero < late[0].rne_zero;
      late_digits = late[0].rne_zero;
      if (steps != range_cases[1].steps) {
        out.measured["steps"] = static_cast<double>(steps);
        out.measured["early"] = early[0].rne_zero;
        out.measured["late"] = late[0].rne_zero;
        out.measured["weights"] = late[1].rne_zero;
      } else {
        out.measured["steps_long"] = static_cast<double>(steps);
        out.measured["late_long"] = late[0].rne_zero;
      }
    }
  }
  out.as_expected = grows && weights_less;
  out.verdict = fmt::format(
      "with seed 0 FP16 would round, late in the training of the digits MLP, {} of the non-zero "
      "activation "
      "gradients to zero; their share {}, and weight gradients lose {}.",
      percent(late_digits), grows ? "grows as the network learns" : "does not grow",
      weights_less ? "less" : "as much");
  out.tables = {table, layers};
  out.plots = {plot};
  out.plots.insert(out.plots.end(), binades.begin(), binades.end());
  return out;
}

constexpr std::array<ExpectedFigure, 6> training_ranges_figures{{
    {"steps", "steps", "440", 440, 440, true},
    {"early", "activation gradients to zero, first tenth", "0.3 %", 0.002, 0.004},
    {"late", "activation gradients to zero, last tenth", "50 %", 0.45, 0.55},
    {"weights", "weight gradients to zero, last tenth", "6 %", 0.04, 0.08},
    {"steps_long", "steps of the long training", "4400", 4400, 4400, true},
    {"late_long", "activation gradients to zero, its last tenth", "81 %", 0.75, 0.87},
}};

constexpr std::array<ExpectedFigure, 4> training_ranges_quick{{
    {"steps", "steps", "220", 220, 220, true},
    {"early", "activation gradients to zero, first tenth", "0.007 %", 2e-5, 2e-4},
    {"late", "activation gradients to zero, last tenth", "31 %", 0.26, 0.36},
    {"weights", "weight gradients to zero, last tenth", "4 %", 0.02, 0.06},
}};

}  // namespace

extern const Experiment training_ranges{
    "training_ranges",
    "How small do gradients become while a network learns, and what of them would binary16 keep?",
    "With seed 0 FP16 rounds, late in training, half of the activation gradients to zero, and "
    "0.008 % of their norm.",
    {"Digits MLP, seed 0: of the activation gradients binary16 rounds {early} to zero in the first "
     "tenth "
     "of {steps} steps, {late} in the last tenth, and {late_long} in the last tenth of "
     "{steps_long}; weight gradients lose less: {weights} (Micikevicius et al. 2018 saw some of "
     "a speech model's die, too).",
     training_ranges_figures},
    &run_training_ranges,
    true,
    {"Digits MLP, seed 0: of the activation gradients binary16 rounds {early} to zero in the first "
     "tenth "
     "of {steps} steps and {late} in the last tenth; weight gradients lose less: {weights}.",
     training_ranges_quick}};

}  // namespace binade
