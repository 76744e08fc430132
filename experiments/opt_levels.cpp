// SPDX-License-Identifier: Apache-2.0
//
// Question: how far from a binary32 training does a network end when it is trained in FP16, BF16,
// TF32 or FP8, at the different levels (Apex's O0 to O3, PyTorch's autocast)? Every workload is
// trained, with products as Hopper's Tensor Cores compute them. Two trainings are for comparison:
// one in binary64, which shows the distance that any change of rounding makes, and one with another
// seed, which shows the distance that chance makes.
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
#include "lib/runs/workloads.h"

namespace binade {
namespace {

constexpr std::string_view throughout = "FP16 throughout (half)", no_master = "FP16 model (O3)",
                           bfloat_mode = "BF16 autocast";

struct Mode {
  std::string_view name, level, format;
};
constexpr std::array<Mode, 9> modes{{{"FP32 (O0)", "O0", "binary32"},
                                     {"TF32", "O0", "tf32"},
                                     {"FP16 autocast", "native", "binary16"},
                                     {"FP16, Apex's lists (O1)", "O1", "binary16"},
                                     {"FP16 model, master (O2)", "O2", "binary16"},
                                     {no_master, "O3", "binary16"},
                                     {throughout, "half", "binary16"},
                                     {bfloat_mode, "native", "bfloat16"},
                                     {"FP8 products, BF16 rest", "native", "e4m3"}}};

struct LevelCase {
  std::string_view workload;
  std::int64_t steps, quick_steps;
};
constexpr std::array<LevelCase, 4> level_cases{{{"digits_mlp", 110, 44},
                                                {"digits_tanh8", 110, 0},
                                                {"fashion_cnn", 40, 0},
                                                {"char_transformer", 30, 0}}};

struct LevelRow {
  std::string mode;
  TrainingLog log;
};

void add_rows(const LevelCase& c, const std::vector<LevelRow>& rows, Table& table, Outcome& out) {
  const TrainingLog& base = rows.front().log;
  for (const LevelRow& row : rows) {
    const double distance = row.log.test_loss / base.test_loss - 1;
    table.rows.push_back(
        {std::string(c.workload), row.mode, fmt::format("{:.4f}", row.log.test_loss),
         std::isfinite(distance) ? fmt::format("{:+.2f} %", 100 * distance) : "-",
         fmt::format("{:.2f} %", 100 * row.log.test_accuracy), std::to_string(row.log.skipped)});
    out.data["runs"].push_back({{"workload", c.workload},
                                {"mode", row.mode},
                                {"steps", row.log.steps.size()},
                                {"test_loss", row.log.test_loss},
                                {"test_accuracy", row.log.test_accuracy},
                                {"of_fp32", distance},
                                {"skipped", row.log.skipped},
                                {"not_finite", row.log.not_finite}});
  }
}

/// Returns the relative distance of the losses of two trainings, step by step; a distance of 0 is a
/// gap.
Series divergence(const std::string& name, const TrainingLog& a, const TrainingLog& base) {
  Series out{.name = name};
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    out.x.push_back(static_cast<double>(i));
    const double distance = std::abs(a.steps[i].loss / base.steps[i].loss - 1);
    out.y.push_back(distance > 0 ? distance : std::nan(""));
  }
  return out;
}

Outcome run_opt_levels(const ExperimentInput& input) {
  Outcome out;
  std::vector<LevelCase> chosen;
  for (LevelCase c : level_cases) {
    if (input.quick) c.steps = c.quick_steps;
    if (c.steps == 0) continue;
    const std::string why = missing_data(c.workload);
    if (why.empty()) {
      chosen.push_back(c);
    } else {
      input.print(fmt::format("{} left out: {}\n", c.workload, why));
    }
  }
  Trainings trainings(input, chosen.size() * (modes.size() + 2));
  Table table{"Test loss and accuracy after training, and the loss's distance from FP32",
              {"network", "trained in", "test loss", "from FP32", "accuracy", "skipped"},
              {}};
  bool finite = true;
  std::size_t by_adamw = 0, nan_by_adamw = 0, nan_by_sgd = 0;
  double worst = 0, worst_seed = 0, bfloat_scale = 1;
  std::string worst_name;
  MeasuredFigures farthest{{"near", std::nullopt}};
  if (!input.quick) farthest["transformer"] = std::nullopt;
  for (const LevelCase& c : chosen) {
    std::vector<LevelRow> rows;
    for (const Mode& mode : modes) {
      const TrainingRecipe recipe = in_format(usual_recipe(c.workload, c.steps),
                                              std::string(mode.level), std::string(mode.format));
      const std::string name = fmt::format("{} {}", c.workload, mode.name);
      rows.push_back({std::string(mode.name), trainings.run(name, c.workload, recipe)});
    }
    rows.push_back({"FP64", trainings.run_fp64(fmt::format("{} FP64", c.workload), c.workload,
                                               usual_recipe(c.workload, c.steps))});
    rows.push_back(
        {"FP32, another seed", trainings.run(fmt::format("{} seed 1", c.workload), c.workload,
                                             usual_recipe(c.workload, c.steps, 1))});
    add_rows(c, rows, table, out);
    Plot plot{.title = fmt::format("{}: how trainings part from FP32", c.workload),
              .x_label = "step",
              .y_label = "|loss / FP32's loss - 1|",
              .y_axis = Axis::log10,
              .note =
                  "The same weights and batches at step 0; rounding alone makes them differ, and "
                  "training amplifies it. FP64 shows what even exactness would do."};
    for (std::size_t i = 1; i < rows.size() - 1; ++i) {
      plot.series.push_back(divergence(rows[i].mode, rows[i].log, rows[0].log));
      if (i >= modes.size()) continue;  // the FP64 training is only drawn
      const double distance = std::abs(rows[i].log.test_loss / rows[0].log.test_loss - 1);
      if (rows[i].mode == throughout || rows[i].mode == no_master) {
        const bool sgd = workload_row(c.workload).optimizer == "sgd";
        by_adamw += sgd ? 0 : 1;
        (sgd ? nan_by_sgd : nan_by_adamw) += rows[i].log.not_finite ? 1 : 0;
        continue;
      }
      finite = finite && !rows[i].log.not_finite;
      std::optional<double>& most =
          farthest[c.workload == "char_transformer" ? "transformer" : "near"];
      most = std::max(most.value_or(0), distance);
      if (rows[i].mode == bfloat_mode) {
        for (const StepLog& step : rows[i].log.steps) {
          if (step.scale != 1) bfloat_scale = step.scale;
        }
      }
      if (distance > worst) {
        worst = distance;
        worst_name = fmt::format("{} in {}", c.workload, rows[i].mode);
      }
    }
    worst_seed =
        std::max(worst_seed, std::abs(rows.back().log.test_loss / rows[0].log.test_loss - 1));
    out.plots.push_back(plot);
  }
  out.measured = farthest;
  out.measured["nan_by_sgd"] = static_cast<double>(nan_by_sgd);
  if (!input.quick) {
    auto& share = out.measured["nan_by_adamw"] = std::nullopt;
    if (by_adamw > 0) {
      share = static_cast<double>(nan_by_adamw) / static_cast<double>(by_adamw);
    }
    const double eps = OptimizerOptions().eps;
    out.measured["seed"] = worst_seed;
    out.measured["eps"] = eps;
    out.measured["becomes"] =
        value_of<double>(convert(bits_of(eps), binary64, binary16).bits, binary16);
  }
  out.measured["bfloat_scale"] = bfloat_scale;
  out.tables = {table};
  out.as_expected = finite;
  out.verdict = fmt::format(
      "with seed 0, of {} network{} trained in {} modes besides FP32 and FP16 without masters, the "
      "farthest "
      "from FP32 is {} with a test loss {:.2f} % from its; another seed moves it by up to {:.2f} "
      "%.",
      chosen.size(), chosen.size() == 1 ? "" : "s", modes.size() - 3, worst_name, 100 * worst,
      100 * worst_seed);
  return out;
}

constexpr std::array<ExpectedFigure, 8> opt_levels_figures{{
    {"near", "largest distance of a test loss from FP32's", "15 %", any_smaller, 0.15},
    {"transformer", "largest distance of the transformer's", "5 %", any_smaller, 0.05},
    {"seed", "largest distance of another seed's from FP32's", "29 %", 0.15, 0.45},
    {"bfloat_scale", "loss scale of BF16", "1", 1, 1},
    {"nan_by_sgd", "FP16 trainings without masters, by SGD, that end in NaN", "no", 0, 0},
    {"nan_by_adamw", "share of those by AdamW that end in NaN", "100 %", 1, 1},
    {"eps", "AdamW's eps", "1e-8", 1e-8, 1e-8, true},
    {"becomes", "AdamW's eps in binary16", "0", 0, 0},
}};
constexpr std::array<ExpectedFigure, 1> opt_levels_quick{{
    {"near", "largest distance of a test loss from FP32's", "1 %", any_smaller, 0.01},
}};

}  // namespace

extern const Experiment opt_levels{
    "opt_levels",
    "How far from binary32 does a network end when it is trained in FP16, BF16, TF32 or FP8, and "
    "at which level?",
    "With seed 0 TF32, FP16, BF16 and FP8 end within 15 % of FP32's test loss (another seed moves "
    "it by up to 29 %), and FP16 without masters ends in NaN with AdamW.",
    {"With seed 0, after some dozens of steps, test losses lie within {near} of FP32's, "
     "{transformer} for the "
     "transformer, where another seed moves them by up to {seed}: in TF32, in FP16 with masters "
     "or under autocast (Micikevicius et al. 2018), in BF16 with a loss scale of {bfloat_scale}, "
     "which is none (Kalamkar et al. 2019), and with FP8 products and one scale per tensor "
     "(Micikevicius et al. 2022). Of FP16 trainings without masters {nan_by_sgd} training by SGD "
     "ends in NaN, but {nan_by_adamw} of those by AdamW do: its eps of {eps} is {becomes} in "
     "binary16.",
     opt_levels_figures},
    &run_opt_levels,
    true,
    {"With seed 0, after some dozens of steps, test losses lie within {near} of FP32's in TF32, in "
     "FP16 with "
     "masters or under autocast, in BF16 with a loss scale of {bfloat_scale}, which is none, and "
     "with FP8 products and one scale per tensor; without masters {nan_by_sgd} training by SGD "
     "ends in NaN.",
     opt_levels_quick}};

}  // namespace binade
