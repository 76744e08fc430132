// SPDX-License-Identifier: Apache-2.0
//
// `binade autocast`: in which dtype an op runs under autocast, by which rule, from which list; or the
// whole list.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/amp/autocast_answer.h"
#include "lib/cli/command.h"

namespace binade {
namespace {

void show_autocast(const AutocastWords& words) {
  const AutocastQuestion q = autocast_question(words);
  const std::vector<AutocastAnswer> answers = autocast_answers(q, words.ops);
  if (words.json) {
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    fmt::print("{}\n", autocast_json(q, answers).dump(2, ' ', false, replace));
    return;
  }
  fmt::print("{}", autocast_text(q, answers));
}

void define_autocast(App app, int&) {
  const auto words = std::make_shared<AutocastWords>();
  app.add_option("OP", words->ops, "names as in ATen, such as addmm (default: the whole list)")
      .delimiter(',');
  app.add_option("--device", words->device, "cuda, cpu, xpu or mps (default: cuda)");
  app.add_option("--list", words->list, "pytorch (torch.autocast) or apex (amp's O1)")
      .capture_default_str();
  app.add_option("--inputs", words->inputs,
                 "formats of a call's inputs, between commas (default: all of the scope's, all "
                 "binary32, both)");
  app.add_option("--dtype", words->dtype, "the scope's format (default: the device's)");
  app.add_flag("--json", words->json, "as JSON");
  app.footer(
      "An op on no list is an answer, too: exit status 0.\n\n"
      "Examples:\n"
      "  binade autocast linear softmax layer_norm\n"
      "  binade autocast cat --device cpu --inputs bfloat16,binary32\n"
      "  binade autocast --device mps\n"
      "  binade autocast var --list apex");
  app.callback([words] { show_autocast(*words); });
}

}  // namespace

const Command autocast_command{
    "autocast", "in which dtype an op runs under autocast, by which rule", &define_autocast};

}  // namespace binade
