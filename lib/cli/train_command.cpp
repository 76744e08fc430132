// SPDX-License-Identifier: Apache-2.0
//
// `binade train`: one training by settings, and its figures; on request also its tensors, step by
// step, and the dtypes in which its ops ran.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/amp/opt_level.h"
#include "lib/cli/command.h"
#include "lib/cli/data_option.h"
#include "lib/cli/files_first.h"
#include "lib/cli/progress.h"
#include "lib/cli/suggestions.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/report/report.h"
#include "lib/runs/data_folder.h"
#include "lib/runs/so_far_file.h"
#include "lib/runs/train_answer.h"
#include "lib/runs/train_settings.h"
#include "lib/runs/trainings.h"
#include "lib/runs/workloads.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"
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

void run_train(const TrainArguments& a) {
  StepLine line;
  const TrainQuestion question{.settings = settings_of(a.settings),
                               .dump = a.dump,
                               .data = a.data,
                               .every = a.every,
                               .flow = a.flow};
  const auto workload = question.settings.find("workload");
  if (workload != question.settings.end() && workload->is_string()) line.begin(*workload);
  MadeFolders folders;
  std::optional<SoFarFile> json;
  const auto prepare = [&] {
    folders = prepare_outputs(
        data_files(a.data),
        std::array{OutputPath{"--json", a.json}, OutputPath{"--dump", a.dump, OutputKind::folder}});
    json.emplace(a.json);
  };
  const auto told = [&line](const StepLog&, std::int64_t done, std::int64_t of) {
    line.update(static_cast<double>(done) / static_cast<double>(of),
                fmt::format("step {} of {}", done, of));
  };
  const auto so_far = [&json](const std::function<nlohmann::ordered_json()>& document) {
    json->write_in_time([&document] { return document().dump(1) + "\n"; });
  };
  const TrainAnswer answer = train_answer(question, prepare, told, so_far);
  line.wipe();
  const auto write = [&] {
    if (!a.json.empty()) write_file(a.json, json_text(answer.json, 1) + "\n");
  };
  files_first(write, [&answer] { fmt::print("{}", answer.text); });
}

/// "of sgd " for a setting that not every optimizer takes; empty for one that every optimizer
/// takes.
std::string of_optimizers(std::string_view option) {
  const std::vector<std::string_view> names = optimizers_with(option);
  return names.size() == optimizers().size() ? "" : fmt::format("of {} ", listed(names));
}

std::string settings_text() {
  const TrainingRecipe usual;
  std::string text =
      "Settings, each written key=value; all but workload have a default, which is in brackets:\n";
  const auto line = [&text](std::string_view key, std::string_view what) {
    text += fmt::format("  {:<24} {}\n", key, what);
  };
  line("workload", "the network and its data; each has defaults of [optimizer, lr, batch]:");
  for (const WorkloadRow& row : workload_rows()) {
    text += fmt::format("    {:<23}{} [{}, {:g}, {}]\n", row.name, row.what, row.optimizer, row.lr,
                        row.batch);
  }
  line("format",
       fmt::format("the format in which products are computed [{}]:", usual.products.format));
  for (const TrainingFormat& format : training_formats) {
    text += fmt::format("    {:<23}{}\n", format.name, format.what);
  }
  line("level", fmt::format("what is cast and whether weights have masters [{}]:", usual.level));
  for (const OptLevel& level : opt_levels()) {
    text += fmt::format("    {:<23}{}\n", level.name, level.what);
  }
  line("arch", fmt::format("architecture whose instructions multiply, such as sm_80 [sm_{}]",
                           usual.products.sm));
  line("accumulator", fmt::format("of the products: f32, f16, or reference (sums in float) [{}]",
                                  usual.products.accumulator));
  line("promote_every",
       fmt::format("number of instructions between two promotions to float, 0: none [{}]",
                   usual.products.promote_every));
  line("fprop dgrad wgrad",
       "names of the instructions of the three products of a layer [the architecture's]");
  line("attention",
       fmt::format("which kernel's roundings attention in FP16 and BF16 has [{}]:",
                   attentions[static_cast<std::size_t>(usual.products.attention)].name));
  for (const AttentionRow& row : attentions) {
    text += fmt::format("    {:<23}{}\n", row.name, row.what);
  }
  line("autoswitch", "true: an FP8 product whose operands lose too much runs in BF16 [false]");
  line("  autoswitch_underflow",
       fmt::format("it switches above this percentage of an operand's values that become 0 [{}]",
                   AutoswitchOptions().underflow_percent));
  line("  autoswitch_mse",
       fmt::format("it switches above this mean square of an operand's rounding errors [{}]",
                   AutoswitchOptions().mse));
  line("scaler",
       fmt::format(
           "what sets the scale of the loss [the level's for binary16, else none], one of\n{:27}{}",
           "", wrapped_names(step_scaler_names(), 27)));
  line("scaler's parameters", "a scaler takes some of these [the defaults of its framework]:");
  for (const ScalerParameter& p : scaler_parameters()) line("  " + std::string(p.name), p.what);
  line("skip_overflow",
       "true: a fixed scale, too, skips steps that overflowed (histogram never) [false]");
  line("loss_shift", "the backward pass sees the loss times 2^-loss_shift [0]");
  line("optimizer", fmt::format("{} [the workload's]", listed(names_of(optimizers()))));
  line("lr", "learning rate [the workload's]");
  line("momentum", "momentum " + of_optimizers("momentum") + "[0.9]");
  line("weight_decay", "weight decay " + of_optimizers("weight_decay") + "[0]");
  line("master_weights", "true, false: whether weights have binary32 masters [the level's]");
  line("update", fmt::format("{}: rounding of a weight without a master [nearest]",
                             listed(update_rule_names)));
  line("clip_norm", "largest norm of all gradients together, 0: they are not clipped [0]");
  line("steps", fmt::format("number of steps [{}]", usual.steps));
  line("batch", "rows of data in a step [the workload's]");
  line("seed",
       fmt::format("seed of the initial weights and of the order of the data [{}]", usual.seed));
  return text +
         "A training that diverged, or whose scaler gave up, is a result with exit status 0: the "
         "text says so in\na line \"diverged\" or \"gave up\", the JSON in not_finite and gave_up. "
         "Exit status 2: a setting or a file\ncannot be used.\n\n"
         "Examples:\n"
         "  binade train workload=digits_mlp format=binary16 scaler=static:1024\n"
         "  binade train workload=fashion_cnn format=e4m3 steps=100 --dump run\n"
         "  binade report run/*.safetensors -o run.html";
}

void define_train(App app, int&) {
  const auto a = std::make_shared<TrainArguments>();
  app.footer(settings_text());
  app.add_option("SETTING", a->settings,
                 "settings of the training, such as workload=digits_mlp format=binary16 "
                 "loss_shift=14; all are explained below")
      .suggest(setting_words)
      .required();
  app.add_output("--json", a->json,
                 "write the figures, and loss and scale of every step, to this file, as JSON; a "
                 "number that is not finite is null. Until the training ends, the file holds the "
                 "steps done so far, under another schema");
  app.add_output("--dump", a->dump,
                 "write gradients, activations, weights and updates of some steps to this folder, "
                 "for `binade report`");
  app.add_option(
      "--dump-every", a->every,
      "number of steps between two that --dump writes (default: a twentieth of all steps)");
  app.add_flag("--flow", a->flow,
               "print also which op ran in which dtype, and which ops on no list of autocast ran "
               "wider than their narrowest input");
  add_data_option(app, a->data);
  app.callback([a] { run_train(*a); });
}

}  // namespace

const Command train_command{
    "train", "train a network in emulated precision",
    "Trains a small network whose products are computed bit for bit as Tensor Cores compute them, "
    "with the format, casts, loss scale and optimizer of the settings. Prints losses, skipped "
    "steps, lost updates and the accuracy on test data.",
    &define_train, "[train](lib/train/README.md)"};

}  // namespace binade
