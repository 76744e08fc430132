// SPDX-License-Identifier: Apache-2.0
//
// `binade advise`: how much memory training takes in each mode of mixed precision, and how well the
// sizes of layers fit Tensor Cores.
#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/instruction/instruction_name.h"
#include "lib/runs/advise_answer.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"
#include "lib/train/memory.h"

namespace binade {
namespace {

struct AdviseArguments : AdviseWords {
  bool json = false;
};

void show_advise(const AdviseArguments& words) {
  const AdviseAnswer answer = advise_answer(words);
  if (words.json) {
    fmt::print("{}\n", json_text(answer.json, 2));
    return;
  }
  fmt::print("{}", answer.text);
}

void define_advise(App app, int&) {
  const auto words = std::make_shared<AdviseArguments>();
  app.add_option("MODEL", words->model,
                 R"(a JSON file of the model's layers: )"
                 R"({"layers": [{"name", "kind": "linear", "tokens", "in", "out"}, )"
                 R"({"name", "kind": "conv2d", "batch", "channels", "height", "width", "filters", )"
                 R"("rows", "columns", "stride", "padding"}]})")
      .suggest_files();
  app.add_option("--linear", words->linear,
                 "a linear layer, TOKENSxINxOUT, such as 4096x4096x50257; may be repeated");
  app.add_option(
      "--conv", words->conv,
      "a convolution, BATCHxCHANNELSxHEIGHTxWIDTH:FILTERSxROWSxCOLUMNS[:stride=S][:pad=P], such "
      "as 32x64x56x56:128x3x3:stride=2:pad=1; may be repeated");
  app.add_option("--params", words->params,
                 "number of parameters, such as 7e9 (default: the weights of the layers)");
  app.add_option("--optimizer", words->optimizer,
                 "which moments are kept for each parameter: those of " +
                     alternatives(names_of(optimizer_moments())))
      .suggest([] { return words_of_table(optimizer_moments()); })
      .capture_default_str();
  app.add_flag(
      "--fp32-moments", words->fp32_moments,
      "keep the optimizer's moments in 4 bytes each in every mode (default: in the type of what "
      "the optimizer steps)");
  app.add_option(
      "--activations-per-sample", words->activations,
      "how many values the forward pass of one sample keeps for the backward pass, such as 2e9 "
      "(default: memory of activations is not told)");
  app.add_option("--batch", words->batch,
                 "samples in a batch, beside --activations-per-sample (default: 1)");
  app.add_option(
      "--memory", words->memory,
      "memory of the GPU, such as 80GB or \"80 GiB\": tells also the largest model that fits");
  app.add_option("--format", words->format, "format of the operands of the layers' products")
      .suggest(format_words)
      .capture_default_str();
  app.add_option("--arch", words->architecture,
                 "architecture whose Tensor Cores run the layers, " + architecture_range())
      .suggest(architecture_words)
      .capture_default_str();
  app.add_flag("--json", words->json, "print JSON instead of text");
  app.footer(
      "\nExit status: 0 advice was printed, 2 an argument or the file cannot be used.\n\n"
      "Examples:\n"
      "  binade advise --params 7e9 --memory 80GB\n"
      "  binade advise --linear 4096x4096x50257 --arch sm_80");
  app.callback([words] { show_advise(*words); });
}

}  // namespace

const Command advise_command{
    "advise", "tell how much memory training modes take, and how layers fit Tensor Cores",
    "Prints how many bytes each mode of mixed-precision training takes for "
    "weights, gradients and moments of the optimizer, and for each layer "
    "whether the sizes of its three products fill the Tensor Core "
    "instructions of an architecture.",
    &define_advise, "[train](lib/train/README.md#what-does-it-take-in-memory)"};

}  // namespace binade
