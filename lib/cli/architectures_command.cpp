// SPDX-License-Identifier: Apache-2.0
//
// `binade architectures`: which Tensor Core instructions are emulated, by which model, and how anyone
// knows.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/device/record_dots.h"
#include "lib/evidence/json.h"
#include "lib/evidence/overview.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade {
namespace {

struct ArchitecturesOptions {
  std::string architecture;
  bool all = true, names = false, evidence = false, json = false;
};

std::string text_of_names(const Architecture& on) {
  std::string out;
  for (const Instruction& x : recorded_instructions(on.sm)) out += instruction_name(x) + "\n";
  const bool any_n = on.families.wgmma || on.families.tcgen05;
  return out + (any_n ? "wgmma and tcgen05 also with every smaller legal n\n" : "");
}

void show_architectures(const ArchitecturesOptions& options) {
  if (options.names && options.evidence) {
    throw Error("--names and --evidence are two lists; ask for one of them");
  }
  std::vector<Architecture> chosen(architectures.begin(), architectures.end());
  if (!options.all) {
    chosen = {*find_architecture(parse_architecture(options.architecture))};
  }
  if (options.json) {
    nlohmann::ordered_json out{{"schema", "binade.architectures/2"},
                               {"architectures", nlohmann::ordered_json::array()}};
    for (const Architecture& on : chosen) out["architectures"].push_back(evidence_json(on));
    fmt::print("{}\n", out.dump(2));
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
  app.add_option("--arch", options->architecture, "one alone: " + architecture_range());
  app.add_flag("--evidence", options->evidence,
               "in full: whose rows, which publication, what the rows exclude and what they held");
  app.add_flag("--names", options->names, "the names of the instructions, a line each");
  app.add_flag("--json", options->json, "as JSON, the evidence in full");
  app.callback([app, options] {
    options->all = app.count("--arch") == 0;
    show_architectures(*options);
  });
}

}  // namespace

const Command architectures_command{
    "architectures", "the Tensor Core instructions that are emulated, and the evidence",
    &define_architectures};

}  // namespace binade
