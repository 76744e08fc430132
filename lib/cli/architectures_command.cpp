// SPDX-License-Identifier: Apache-2.0
//
// `binade architectures`: which Tensor Core instructions are emulated, by which model, and what the
// evidence for each model is.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/device/record_dots.h"
#include "lib/evidence/json.h"
#include "lib/evidence/overview.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

struct ArchitecturesOptions {
  std::string architecture;
  bool all = true, names = false, evidence = false, json = false;
};

std::string text_of_names(const Architecture& on) {
  std::string out;
  for (const Instruction& x : instruction_forms(on.sm)) out += instruction_name(x) + "\n";
  const bool any_n = on.families.wgmma || on.families.tcgen05;
  return out + (any_n ? "wgmma and tcgen05 also with every smaller legal n\n" : "");
}

void show_architectures(const ArchitecturesOptions& options) {
  if (options.names && options.evidence) {
    throw Error("--names and --evidence are two lists; ask for one of them");
  }
  const std::string with_json = "with --json, which has the names and the evidence in full";
  refuse_idle(std::array{IdleOption{"--names", options.names && options.json, with_json},
                         IdleOption{"--evidence", options.evidence && options.json, with_json}});
  std::vector<Architecture> chosen(architectures.begin(), architectures.end());
  if (!options.all) {
    chosen = {*find_architecture(parse_architecture(options.architecture))};
  }
  if (options.json) {
    nlohmann::ordered_json out{{"schema", "binade.architectures/2"},
                               {"architectures", nlohmann::ordered_json::array()}};
    for (const Architecture& on : chosen) out["architectures"].push_back(evidence_json(on));
    fmt::print("{}\n", json_text(out, 2));
    return;
  }
  for (const Architecture& on : chosen) {
    const bool first = &on == chosen.data();
    fmt::print("{}{}", first || options.names ? "" : "\n",
               options.names      ? text_of_names(on)
               : options.evidence ? evidence_in_full(on.sm)
                                  : overview_text(on.sm));
  }
  if (!options.names) {
    fmt::print("{}", options.evidence ? evidence_legend() : overview_legend());
  }
}

void define_architectures(App app, int&) {
  const auto options = std::make_shared<ArchitecturesOptions>();
  app.add_option("--arch", options->architecture,
                 "list this architecture only, one of " + architecture_range() + " (default: all)")
      .suggest(architecture_words);
  app.add_flag("--evidence", options->evidence,
               "print the evidence in full: on which GPU rows were recorded, which publication "
               "says it, which other rules the rows exclude, and which operands they held");
  app.add_flag("--names", options->names,
               "print only the names of the instructions, one per line, as --instruction of other "
               "commands takes them");
  app.add_flag("--json", options->json, "print JSON, with the evidence in full");
  app.footer(
      "\nExit status: 0 the list was printed, 2 an argument is wrong.\n\n"
      "Examples:\n"
      "  binade architectures --arch sm_90\n"
      "  binade architectures --arch sm_90 --names\n"
      "  binade architectures --arch sm_120 --evidence");
  app.callback([app, options] {
    options->all = app.count("--arch") == 0;
    show_architectures(*options);
  });
}

}  // namespace

const Command architectures_command{
    "architectures", "list the Tensor Core instructions that are emulated, and the evidence",
    "Lists the Tensor Core instructions that binade emulates, by architecture: types and sizes, "
    "how each sums its products, and how it is known (by hardware, machine code or a paper, or "
    "still open). A legend below the table explains its columns.",
    &define_architectures, "[products](lib/gemm/README.md#which-instructions-are-emulated)"};

}  // namespace binade
