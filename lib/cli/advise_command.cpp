// SPDX-License-Identifier: Apache-2.0
//
// `binade advise`: what a training mode costs in memory, and what a layer's sizes cost on Tensor Cores.
#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/instruction/instruction_name.h"
#include "lib/study/advise_answer.h"
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
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    fmt::print("{}\n", answer.json.dump(2, ' ', false, replace));
    return;
  }
  fmt::print("{}", answer.text);
}

void define_advise(App app, int&) {
  const auto words = std::make_shared<AdviseArguments>();
  app.add_option("MODEL", words->model,
                 R"(a JSON file {"layers": [{"name", "kind": "linear", "tokens", "in", "out"}, )"
                 R"({"name", "kind": "conv2d", "batch", "channels", "height", "width", "filters", )"
                 R"("rows", "columns", "stride", "padding"}]})");
  app.add_option("--linear", words->linear, "a layer of TOKENSxINxOUT: 4096x4096x50257");
  app.add_option("--conv", words->conv,
                 "a layer of BATCHxCHANNELSxHEIGHTxWIDTH:FILTERSxROWSxCOLUMNS[:stride=S][:pad=P]");
  app.add_option("--params", words->params, "parameters: 7e9 (else the weights of the layers)");
  app.add_option("--optimizer", words->optimizer, alternatives(names_of(optimizer_moments())))
      .capture_default_str();
  app.add_flag("--fp32-moments", words->fp32_moments, "moments of 4 bytes in every mode");
  app.add_option("--activations-per-sample", words->activations,
                 "values a sample's forward pass keeps for backward");
  app.add_option("--batch", words->batch, "samples");
  app.add_option("--memory", words->memory, "what there is, 80GB or \"80 GiB\": what fits?");
  app.add_option("--format", words->format, "format of the products' operands")
      .capture_default_str();
  app.add_option("--arch", words->architecture, architecture_range()).capture_default_str();
  app.add_flag("--json", words->json, "as JSON");
  app.callback([words] { show_advise(*words); });
}

}  // namespace

const Command advise_command{"advise",
                             "memory of training modes, and sizes of layers that Tensor Cores like",
                             &define_advise};

}  // namespace binade
