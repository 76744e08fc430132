// SPDX-License-Identifier: Apache-2.0
//
// `binade autocast`: in which dtype an op runs under PyTorch's or Apex's autocast, by which rule
// and from which list; or the whole list.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/amp/autocast_answer.h"
#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

void show_autocast(const AutocastWords& words) {
  const AutocastQuestion q = autocast_question(words);
  const std::vector<AutocastAnswer> answers = autocast_answers(q, words.ops);
  if (words.json) {
    fmt::print("{}\n", json_text(autocast_json(q, answers), 2));
    return;
  }
  fmt::print("{}", autocast_text(q, answers));
}

void define_autocast(App app, int&) {
  const auto words = std::make_shared<AutocastWords>();
  app.add_option("OP", words->ops,
                 "names of ops as ATen has them, such as addmm (default: print the whole list)")
      .suggest(listed_op_words)
      .delimiter(',');
  app.add_option("--device", words->device,
                 "device type whose list decides: cuda, cpu, xpu or mps (default: cuda)")
      .suggest(device_type_words);
  app.add_option("--list", words->list,
                 "whose list decides: pytorch (torch.autocast) or apex (O1 of its amp)")
      .suggest([] {
        return std::vector<std::string>{"pytorch", "apex"};
      })
      .capture_default_str();
  app.add_option("--inputs", words->inputs,
                 "formats of the inputs of the call, separated by commas, such as "
                 "bfloat16,binary32 (default: "
                 "three cases, all in the format of --dtype, all in binary32, and both)")
      .suggest_list(format_words);
  app.add_option(
         "--dtype", words->dtype,
         "format to which autocast casts (default: the device type's, such as binary16 on cuda)")
      .suggest(format_words);
  app.add_flag("--json", words->json, "print JSON instead of text");
  app.footer(
      "Exit status: 0 an answer was printed, which may be that an op is on no list, 2 an argument "
      "is wrong.\n\n"
      "Examples:\n"
      "  binade autocast linear softmax layer_norm\n"
      "  binade autocast cat --device cpu --inputs bfloat16,binary32\n"
      "  binade autocast --device mps\n"
      "  binade autocast var --list apex");
  app.callback([words] { show_autocast(*words); });
}

}  // namespace

const Command autocast_command{
    "autocast", "tell in which dtype an op runs under autocast, by which rule",
    "Prints for each op in which dtype PyTorch's autocast or Apex runs "
    "it, by which rule, and in which source file that rule stands.",
    &define_autocast, "[train](lib/train/README.md#in-which-dtype-does-an-op-run)"};

}  // namespace binade
