// SPDX-License-Identifier: Apache-2.0
//
// `binade formats`: the table of formats, with any the user makes.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/explain/format_table.h"

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
    std::cout << format_table_json(rows).dump(2) << '\n';
  } else {
    std::cout << format_table_text(rows);
  }
}

void define_formats(App app, int& status) {
  const auto options = std::make_shared<FormatsOptions>();
  app.add_option("name", options->names, "formats to show (default: all named ones)")
      .delimiter(',');
  app.add_flag("--json", options->json, "the same as JSON, every number exact");
  app.footer(std::string("\nThresholds are those of ties to even with gradual underflow.\n\n") +
             format_spec_help +
             "\n\nExamples:\n"
             "  binade formats\n"
             "  binade formats binary16 e5m7 e4m3:specials=ieee");
  app.callback([&status, options] {
    print_formats(*options);
    status = 0;
  });
}

}  // namespace

const Command formats_command{"formats", "the formats: range, thresholds, special values",
                              define_formats};

}  // namespace binade
