// SPDX-License-Identifier: Apache-2.0
//
// binade train: one training by settings, its figures, and where asked its tensors step by step and the
// dtypes its ops ran in.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/amp/dtype_flow.h"
#include "lib/amp/opt_level.h"
#include "lib/cli/command.h"
#include "lib/cli/data_folder.h"
#include "lib/cli/dot_text.h"
#include "lib/cli/progress.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/report/report.h"
#include "lib/study/tensor_dump.h"
#include "lib/study/train_settings.h"
#include "lib/study/trainings.h"
#include "lib/study/workloads.h"
#include "lib/tensor/error.h"
#include "lib/tensor/spelling.h"
#include "lib/tensor/version.h"
#include "lib/train/step_scaler.h"

namespace binade {
namespace {

struct TrainArguments {
  std::vector<std::string> settings;
  std::string json, dump, data;
  std::optional<std::int64_t> every;
  bool flow = false;
};

nlohmann::json settings_of(const std::vector<std::string>& texts) {
  nlohmann::json out = nlohmann::json::object();
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(
          fmt::format("setting '{}' is not key=value; settings are such as workload=digits_mlp",
                      printable(text)));
    }
    const std::string key = text.substr(0, equals);
    if (out.contains(key)) {
      throw Error(fmt::format("setting '{}': {} is there twice; give it once", printable(text),
                              printable(key)));
    }
    if (equals + 1 == text.size()) {
      throw Error(
          fmt::format("setting '{}' has no value; settings are such as lr=0.1", printable(text)));
    }
    out[key] = setting_value(key, std::string_view(text).substr(equals + 1));
  }
  return out;
}

void check_dump(const TrainArguments& a) {
  if (a.every && a.dump.empty()) {
    throw Error("--dump-every has no effect without --dump: name a folder, or leave it out");
  }
  if (a.every && *a.every < 1) {
    throw Error(fmt::format("--dump-every {}: give a number of steps from 1", *a.every));
  }
}

/// printf's %g, and NaN without the sign that it may carry.
std::string shown(double x, int digits) {
  return std::isnan(x) ? "NaN" : fmt::format("{:.{}g}", x, digits);
}

/// Names in lines of at most 100 columns, `indent` before each but the first.
std::string wrapped(std::span<const std::string_view> names, std::size_t indent) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view comma = i + 1 < names.size() ? "," : "";
    if (column + names[i].size() + 2 > 100) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      text += " ";
    }
    text += fmt::format("{}{}", names[i], comma);
    column += names[i].size() + 2;
  }
  return text;
}

/// "layer scales    fc3 2^4, fc2 2^6 …": the product of scales that met each layer, from the loss on.
std::string layer_scales_text(const std::vector<LayerScale>& scales) {
  if (scales.empty()) return "";
  std::vector<std::string> words;
  for (const LayerScale& l : scales) {
    words.push_back(fmt::format("{} 2^{:.3g}", l.layer, std::log2(l.product)));
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  return "layer scales    " + wrapped(views, 16) +
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
      "parameters      {}\nsteps           {}, {} skipped\nloss            {} at first, {} "
      "in the last tenth\ntest            {} of {} rows right, loss {}\n",
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

void run_train(const TrainArguments& a) {
  check_dump(a);
  const nlohmann::json settings = settings_of(a.settings);
  const TrainSettings s = train_settings(settings);
  const Workload<float> network = workload<float>(s.workload, data_folder(a.data), s.batch);
  prepare_outputs(data_files(a.data), std::array{OutputPath{"--json", a.json},
                                                 OutputPath{"--dump", a.dump, OutputKind::folder}});
  Hooks<float> hooks;
  if (!a.dump.empty()) {
    const std::int64_t every = a.every.value_or(std::max<std::int64_t>(1, s.recipe.steps / 20));
    hooks = dump_hooks(a.dump, every, s.recipe.steps);
  }
  StepLine line;
  line.begin(s.workload);
  const auto outer = hooks.progress;
  hooks.progress = [&line, outer](std::int64_t done, std::int64_t of) {
    if (outer) outer(done, of);
    line.update(static_cast<double>(done) / static_cast<double>(of),
                fmt::format("step {} of {}", done, of));
  };
  std::optional<DtypeFlow> flow;
  if (a.flow) flow.emplace();
  const TrainingLog log = train(network, s.recipe, hooks);
  line.wipe();
  fmt::print("{}", rows_text(log));
  if (flow) fmt::print("\n{}", text_of(*flow));
  if (!a.dump.empty()) {
    fmt::print("\nbinade report {}/*.safetensors -o run.html\n", command_line({a.dump}));
  }
  if (a.json.empty()) return;
  nlohmann::ordered_json out{{"schema", "binade.training/1"},
                             {"binade", version},
                             {"settings", settings},
                             {"effective", effective_settings(s)},
                             {"result", result_of(log)}};
  for (const StepLog& step : log.steps) {
    out["steps"].push_back({{"loss", step.loss},
                            {"scale", step.scale},
                            {"skipped", step.skipped},
                            {"updates_lost", step.updates.lost},
                            {"updates_not_shown", step.updates.not_shown}});
  }
  if (flow) out["dtype_flow"] = json_of(*flow);
  write_file(a.json, out.dump(1) + "\n");
}

/// "of sgd " for an option that not all take.
std::string of_optimizers(std::string_view option) {
  const std::vector<std::string_view> names = optimizers_with(option);
  return names.size() == optimizers().size() ? "" : fmt::format("of {} ", listed(names));
}

std::string settings_text() {
  const TrainingRecipe usual;
  std::string text =
      "Settings, key=value; all but workload have a default, which is in brackets:\n";
  const auto line = [&text](std::string_view key, std::string_view what) {
    text += fmt::format("  {:<24} {}\n", key, what);
  };
  line("workload", "a network and its data, with [optimizer, lr, batch] of its own:");
  for (const WorkloadRow& row : workload_rows) {
    text += fmt::format("    {:<23}{} [{}, {:g}, {}]\n", row.name, row.what, row.optimizer, row.lr,
                        row.batch);
  }
  line("format", fmt::format("what products are computed in [{}]:", usual.products.format));
  for (const TrainingFormat& format : training_formats) {
    text += fmt::format("    {:<23}{}\n", format.name, format.what);
  }
  line("level",
       fmt::format("what is cast, who has masters, with it the scaler [{}]:", usual.level));
  for (const OptLevel& level : opt_levels()) {
    text += fmt::format("    {:<23}{}\n", level.name, level.what);
  }
  line("arch", fmt::format("whose instructions, as sm_80 [sm_{}]", usual.products.sm));
  line("accumulator",
       fmt::format("f32, f16, reference (sums in float) [{}]", usual.products.accumulator));
  line("promote_every", fmt::format("instructions between two promotions to float, 0: none [{}]",
                                    usual.products.promote_every));
  line("fprop dgrad wgrad", "the instruction of each pass by name [the architecture's]");
  line("attention",
       fmt::format("where FP16 and BF16 attention rounds [{}]:",
                   attentions[static_cast<std::size_t>(usual.products.attention)].name));
  for (const AttentionRow& row : attentions) {
    text += fmt::format("    {:<23}{}\n", row.name, row.what);
  }
  line("autoswitch", "true: FP8 products whose operands lose too much run in BF16 [false]");
  line("  autoswitch_underflow", fmt::format("percent of an operand's values that become 0 [{}]",
                                             AutoswitchOptions().underflow_percent));
  line("  autoswitch_mse",
       fmt::format("mean square of an operand's rounding errors [{}]", AutoswitchOptions().mse));
  line("scaler", fmt::format("of the loss, [the level's for binary16, else none], one of\n{:27}{}",
                             "", wrapped(step_scaler_names(), 27)));
  line("scaler's parameters", "those that it takes [its framework's]:");
  for (const ScalerParameter& p : scaler_parameters()) line("  " + std::string(p.name), p.what);
  line("skip_overflow",
       "true: a fixed scale skips overflowed steps, too; histogram never does [false]");
  line("loss_shift", "the backward pass sees the loss times 2^-loss_shift [0]");
  line("optimizer", fmt::format("{} [the workload's]", listed(names_of(optimizers()))));
  line("lr", "[the workload's]");
  line("momentum", of_optimizers("momentum") + "[0.9]");
  line("weight_decay", of_optimizers("weight_decay") + "[0]");
  line("master_weights", "true, false [the level's]");
  line("update", fmt::format("{}: how a weight without a master is rounded [nearest]",
                             listed(update_rule_names)));
  line("clip_norm", "of all gradients together, 0: none [0]");
  line("steps", fmt::format("[{}]", usual.steps));
  line("batch", "rows of a step [the workload's]");
  line("seed", fmt::format("[{}]", usual.seed));
  return text +
         "A training that diverged or whose scaler gave up is a result, exit status 0: the text "
         "says\n"
         "so in a line \"diverged\" or \"gave up\", the JSON in not_finite and gave_up.";
}

void define_train(App app, int&) {
  const auto a = std::make_shared<TrainArguments>();
  app.footer(settings_text());
  app.add_option("SETTING", a->settings,
                 "key=value, as workload=digits_mlp format=binary16 loss_shift=14")
      .required();
  app.add_output(
      "--json", a->json,
      "write figures and every step's loss and scale to this file; what is not finite is null");
  app.add_output(
      "--dump", a->dump,
      "write gradients, activations, weights and updates of some steps into this folder, "
      "for binade report");
  app.add_option("--dump-every", a->every, "steps between two dumps (default: a twentieth of all)");
  app.add_flag("--flow", a->flow, "tell which op ran in which dtype, and silent promotions");
  add_data_option(app, a->data);
  app.callback([a] { run_train(*a); });
}

}  // namespace

const Command train_command{"train", "train a network in emulated precision", &define_train};

}  // namespace binade
