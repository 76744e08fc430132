// SPDX-License-Identifier: Apache-2.0
//
// Runs one training from its settings, and puts its results into text and JSON.
#include "lib/runs/train_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/amp/dtype_flow.h"
#include "lib/runs/data_folder.h"
#include "lib/runs/tensor_dump.h"
#include "lib/runs/train_settings.h"
#include "lib/runs/workloads.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/text/percent.h"
#include "lib/text/spelling.h"
#include "lib/version.h"

namespace binade {
namespace {

void check_dump(const TrainQuestion& a) {
  if (a.every && a.dump.empty()) {
    throw Error("--dump-every has no effect without --dump: name a folder, or leave it out");
  }
  if (a.every && *a.every < 1) {
    throw Error(fmt::format("--dump-every {}: give a number of steps from 1", *a.every));
  }
}

/// The number with so many significant digits, as printf's %g; a NaN without its sign.
std::string shown(double x, int digits) {
  return std::isnan(x) ? "NaN" : fmt::format("{:.{}g}", x, digits);
}

/// "layer scales    fc3 2^4, fc2 2^6 …": the product of scales that met each layer, from the loss
/// on.
std::string layer_scales_text(const std::vector<LayerScale>& scales) {
  if (scales.empty()) return "";
  std::vector<std::string> words;
  for (const LayerScale& l : scales) {
    words.push_back(fmt::format("{} 2^{:.3g}", l.layer, std::log2(l.product)));
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  return "layer scales    " + wrapped_names(views, 16) +
         ", products from the loss on, in the last step\n";
}

std::string switches_text(const TrainingLog& log) {
  if (log.switches.empty()) return "";
  std::uint64_t products = 0;
  std::array<std::uint64_t, 3> by_pass{};
  for (const SwitchTally& tally : log.switches) {
    products += tally.products;
    by_pass[static_cast<std::size_t>(std::ranges::find(pass_names, tally.gemm) -
                                     pass_names.begin())] += tally.switched;
  }
  std::string passes;
  for (std::size_t i = 0; i < pass_names.size(); ++i) {
    passes += fmt::format("{}{} {}", i == 0 ? "" : ", ", pass_names[i], by_pass[i]);
  }
  return fmt::format("switched        {} of {} FP8 products to BF16 ({})\n", switched_of(log),
                     products, passes);
}

std::string rows_text(const TrainingLog& log) {
  std::uint64_t mac = 0;
  for (const std::uint64_t n : log.tally.multiply_adds) mac += n;
  std::string text = fmt::format(
      "parameters      {}\nsteps           {}, {} skipped\nloss            {} at first, {} in the "
      "last tenth\ntest            {} of {} rows right, loss {}\n",
      log.parameters, log.steps.size(), log.skipped, shown(log.steps.front().loss, 4),
      shown(log.final_loss(), 4), percent(log.test_accuracy), log.test_rows,
      shown(log.test_loss, 4));
  text += fmt::format("loss scale      {} in the first step, {} in the last\n",
                      shown(log.steps.front().scale, 6), shown(log.steps.back().scale, 6));
  const StepCounts updates = log.updates();
  const auto row = [&](std::string_view name, std::uint64_t n, std::string_view what) {
    text += fmt::format("{:<16}{} of {} ({}): {}\n", name, n, updates.asked,
                        percent(static_cast<double>(n) / static_cast<double>(updates.asked)), what);
  };
  if (updates.asked != 0) {
    row("updates lost", updates.lost, "nothing that is kept of the weight changed");
    if (updates.not_shown != 0) {
      row("not shown", updates.not_shown,
          "a master or Kahan's sum holds them, the model's weight did not change");
    }
  }
  text += fmt::format("products        {:.3g} multiply-adds\n", static_cast<double>(mac));
  text += layer_scales_text(log.layer_scales) + switches_text(log);
  if (log.gave_up) text += fmt::format("gave up         {}\n", *log.gave_up);
  if (log.not_finite) text += "diverged        a weight or the loss is NaN or infinite\n";
  return text;
}

/// Returns the document of a training: settings, `figures` under their key, and its steps.
nlohmann::ordered_json training_json(std::string_view schema, const TrainQuestion& a,
                                     const TrainSettings& s, const std::string& key,
                                     const nlohmann::ordered_json& figures,
                                     std::span<const StepLog> steps) {
  nlohmann::ordered_json out{{"schema", schema},
                             {"binade", version},
                             {"settings", a.settings},
                             {"effective", effective_settings(s)},
                             {key, figures}};
  for (const StepLog& step : steps) {
    out["steps"].push_back({{"loss", step.loss},
                            {"scale", step.scale},
                            {"skipped", step.skipped},
                            {"updates_lost", step.updates.lost},
                            {"updates_not_shown", step.updates.not_shown}});
  }
  return out;
}

}  // namespace

TrainAnswer train_answer(const TrainQuestion& a, const std::function<void()>& prepare,
                         const StepTold& told, const SoFarTold& so_far) {
  check_dump(a);
  const TrainSettings s = train_settings(a.settings);
  const Workload<float> network = workload<float>(s.workload, data_folder(a.data), s.batch);
  prepare();
  Hooks<float> hooks;
  if (!a.dump.empty()) {
    const std::int64_t every = a.every.value_or(std::max<std::int64_t>(1, s.recipe.steps / 20));
    hooks = dump_hooks(a.dump, every, s.recipe.steps);
  }
  std::vector<StepLog> steps;
  hooks.logged = [&](const StepLog& step, std::int64_t done, std::int64_t of) {
    if (told) told(step, done, of);
    if (!so_far || done == of) return;
    steps.push_back(step);
    so_far([&] {
      return training_json("binade.training_unfinished/1", a, s, "unfinished",
                           {{"done", done}, {"of", of}}, steps);
    });
  };
  std::optional<DtypeFlow> flow;
  if (a.flow) flow.emplace();
  const TrainingLog log = train(network, s.recipe, hooks);
  TrainAnswer out{
      .text = rows_text(log),
      .json = training_json("binade.training/1", a, s, "result", result_of(log), log.steps)};
  if (flow) {
    out.text += "\n" + dtype_flow_text(*flow);
    out.json["dtype_flow"] = dtype_flow_json(*flow);
  }
  if (!a.dump.empty()) {
    out.text +=
        fmt::format("\nbinade report {}/*.safetensors -o run.html\n", command_line({a.dump}));
  }
  return out;
}

}  // namespace binade
