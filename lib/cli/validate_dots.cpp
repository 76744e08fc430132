// SPDX-License-Identifier: Apache-2.0
//
// Declares the subcommand `dots` of `binade validate`, and prints its answer.
#include "lib/cli/validate_dots.h"

#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/dot_options.h"
#include "lib/cli/rule_options.h"
#include "lib/text/json_text.h"
#include "lib/validate/dot_answer.h"

namespace binade {

void define_validate_dots(App app, int& status) {
  const auto options = std::make_shared<CheckedDots>();
  const App dots =
      app.add_subcommand("dots", "recorded dot products: d = c + sum of a·b",
                         "Compares recorded dot products, d = c + sum of a·b, one of each row of "
                         "the arrays, with what the emulator gives for an instruction, bit for "
                         "bit. Prints how many rows are equal, and shows the first that differ.");
  const DotOptionNames names = add_dot_options(dots, options->dots);
  for (const Option& needed : {names.architecture, names.instruction, names.a, names.b, names.d}) {
    needed.required();
  }
  dots.add_option("--show", options->show, "how many of the rows that differ to show")
      .capture_default_str();
  dots.add_flag("--evidence", options->evidence, evidence_help);
  dots.add_flag("--json", options->json, "print JSON instead of text");
  add_rule_options(dots, options->rules);
  dots.footer(
      "\nExit status: 0 all rows are equal, 1 some differ, 2 an argument or a file cannot be "
      "used.\n\n"
      "Example:\n"
      "  binade validate dots --arch sm_90 --instruction mma.m16n8k16.f32.f16.f16.f32 --a a.npy "
      "--b b.npy --d d.npy");
  dots.callback([&status, options] {
    const DotValidation x = validated(*options);
    if (options->json) {
      fmt::print("{}\n", json_text(dot_validation_json(x, *options), 2));
    } else {
      fmt::print("{}", dot_validation_text(x, *options));
    }
    status = x.check.different == 0 ? 0 : exit_different;
  });
}

}  // namespace binade
