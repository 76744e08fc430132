// SPDX-License-Identifier: Apache-2.0
//
// binade train: one training by settings, its figures, and where asked its tensors step by step and the
// dtypes its ops ran in.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/amp/dtype_flow.h"
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
#include "lib/tensor/version.h"

namespace binade {
namespace {

struct Arguments {
  std::vector<std::string> settings;
  std::string json, dump, data;
  std::int64_t every = 0;
  bool flow = false;
};

/// key=value: value as JSON where it is (numbers, true, false), else a text.
nlohmann::json settings_of(const std::vector<std::string>& texts) {
  nlohmann::json out = nlohmann::json::object();
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw Error(fmt::format("{}: not key=value; settings are such as workload=digits_mlp",
                              printable(text)));
    }
    const std::string value = text.substr(equals + 1);
    nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
    if (!parsed.is_number() && !parsed.is_boolean()) parsed = value;
    out[text.substr(0, equals)] = std::move(parsed);
  }
  return out;
}

std::string rows_text(const TrainingLog& log) {
  std::uint64_t asked = 0, lost = 0, mac = 0;
  for (const StepLog& step : log.steps) {
    asked += step.updates.asked;
    lost += step.updates.lost;
  }
  for (const std::uint64_t n : log.tally.multiply_adds) mac += n;
  std::string text = fmt::format(
      "parameters      {}\nsteps           {}, {} skipped\nloss            {:.4g} at first, {:.4g} "
      "in the last tenth\ntest            {} of {} rows right, loss {:.4g}\n",
      log.parameters, log.steps.size(), log.skipped, log.steps.front().loss, log.final_loss(),
      percent(log.test_accuracy), log.test_rows, log.test_loss);
  text += fmt::format("loss scale      {:g} at first, {:g} at last\n", log.steps.front().scale,
                      log.steps.back().scale);
  if (asked != 0) {
    text += fmt::format("updates lost    {} of {} ({}): the weight stayed as it was\n", lost, asked,
                        percent(static_cast<double>(lost) / static_cast<double>(asked)));
  }
  text += fmt::format("products        {:.3g} multiply-adds\n", static_cast<double>(mac));
  if (log.gave_up) text += fmt::format("gave up         {}\n", *log.gave_up);
  if (log.not_finite) text += "diverged        a weight or the loss is NaN or infinite\n";
  return text;
}

void run(const Arguments& a) {
  const nlohmann::json settings = settings_of(a.settings);
  const TrainSettings s = train_settings(settings);
  const Workload<float> network = workload<float>(s.workload, data_folder(a.data), s.batch);
  prepare_outputs({}, std::array{OutputPath{"--json", a.json},
                                 OutputPath{"--dump", a.dump, OutputKind::folder}});
  Hooks<float> hooks;
  if (!a.dump.empty()) {
    const std::int64_t every =
        a.every > 0 ? a.every : std::max<std::int64_t>(1, s.recipe.steps / 20);
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
                             {"result", result_of(log)}};
  for (const StepLog& step : log.steps) {
    out["steps"].push_back({{"loss", step.loss},
                            {"scale", step.scale},
                            {"skipped", step.skipped},
                            {"updates_lost", step.updates.lost}});
  }
  if (flow) out["dtype_flow"] = json_of(*flow);
  write_file(a.json, out.dump(1) + "\n");
}

std::string workloads_text() {
  std::string text = "Settings, key=value: workload is one of\n";
  for (const WorkloadRow& row : workload_rows) {
    text += fmt::format("  {:<18}{}\n", row.name, row.what);
  }
  text += "format is one of\n";
  for (const TrainingFormat& format : training_formats) {
    text += fmt::format("  {:<18}{}\n", format.name, format.what);
  }
  return text +
         "level O0, O1, O2, O3 or native; arch; accumulator f32, f16 or reference; promote_every;\n"
         "fprop, dgrad, wgrad (instructions by name); scaler (torch, apex, keras3, jmp, "
         "deepspeed,\n"
         "megatron, static:1024, none, log_max, histogram, ...); init_scale; growth_interval;\n"
         "skip_overflow; loss_shift; optimizer sgd, adam or adamw; lr; momentum; weight_decay; "
         "master_weights;\n"
         "update nearest, stochastic or kahan; clip_norm; steps; batch; seed.";
}

void define(CLI::App& app, int&) {
  const auto a = std::make_shared<Arguments>();
  app.footer(workloads_text());
  app.add_option("SETTING", a->settings,
                 "key=value, as workload=digits_mlp format=binary16 loss_shift=14")
      ->required();
  app.add_option("--json", a->json, "write figures and every step's loss and scale to this file");
  app.add_option(
      "--dump", a->dump,
      "write gradients, activations, weights and updates of some steps into this folder, "
      "for binade report");
  app.add_option("--dump-every", a->every, "steps between two dumps (default: a twentieth)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--flow", a->flow, "tell which op ran in which dtype, and silent promotions");
  add_data_option(app, a->data);
  app.callback([a] { run(*a); });
}

}  // namespace

const Command train_command{"train", "train a network in emulated precision", &define};

}  // namespace binade
