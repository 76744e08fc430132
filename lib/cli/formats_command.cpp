// SPDX-License-Identifier: Apache-2.0
//
// `binade formats`: the table of formats that have names, or of those that the user names or
// specifies.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/explain/format_table.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

struct FormatsOptions {
  std::vector<std::string> names;
  bool json = false;
};

void print_formats(const FormatsOptions& options) {
  std::vector<FormatLimits> rows;
  for (const std::string& name : options.names) rows.push_back(limits_of(parse_format(name)));
  if (rows.empty()) {
    for (const NamedFormat& row : formats) {
      rows.push_back(limits_of({std::string(row.name), row.format}));
    }
  }
  if (options.json) {
    std::cout << json_text(format_table_json(rows), 2) << '\n';
  } else {
    std::cout << format_table_text(rows);
  }
}

void define_formats(App app, int& status) {
  const auto options = std::make_shared<FormatsOptions>();
  app.add_option("name", options->names,
                 "formats to show, as names or specifications (default: all that have a name)")
      .suggest(format_words)
      .delimiter(',');
  app.add_flag("--json", options->json, "print JSON instead of text, every number exact");
  app.footer(std::string("\nThe thresholds at which a value becomes zero or overflows are those of "
                         "rounding to nearest, ties to\neven, with gradual underflow.\n\n") +
             format_spec_help +
             "\n\nExamples:\n"
             "  binade formats\n"
             "  binade formats binary16 e5m7 e4m3:specials=ieee\n\n"
             "Exit status: 0 the table was printed, 2 a name or a specification is wrong.");
  app.callback([&status, options] {
    print_formats(*options);
    status = 0;
  });
}

}  // namespace

const Command formats_command{
    "formats", "list formats: range, thresholds, special values",
    "Prints a table of floating-point formats: their bits, precision and range, the thresholds at "
    "which values become zero or overflow, and their special values.",
    define_formats, "[formats](emulate/README.md#where-a-format-ends)"};

}  // namespace binade
