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
#include "lib/explain/block_table.h"
#include "lib/explain/format_table.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

struct FormatsOptions {
  std::vector<std::string> names;
  bool scale_rules = false;
  bool json = false;
};

/// The formats that were asked for, or all that have a name.
struct AskedFormats {
  std::vector<FormatLimits> formats;
  std::vector<NamedOrCustomBlock> blocks;
};

AskedFormats asked_formats(const std::vector<std::string>& names) {
  AskedFormats out;
  for (const std::string& name : names) {
    if (names_block_format(name)) {
      out.blocks.push_back(parse_block_format(name));
    } else {
      out.formats.push_back(limits_of(parse_format(name)));
    }
  }
  if (!names.empty()) return out;
  for (const NamedFormat& row : formats) {
    out.formats.push_back(limits_of({std::string(row.name), row.format}));
  }
  for (const NamedBlockFormat& row : block_formats) {
    out.blocks.push_back({std::string(row.name), row.format});
  }
  return out;
}

void print_formats(const FormatsOptions& options) {
  AskedFormats asked = asked_formats(options.names);
  std::vector<const NamedScaleRule*> rules;
  if (options.scale_rules) {
    if (!asked.formats.empty() && !options.names.empty()) {
      throw Error("--scale-rules: " + asked.formats[0].name +
                  " has no scales; block formats have, such as mxfp4");
    }
    rules = rules_for(options.names.empty() ? std::span<const NamedOrCustomBlock>() : asked.blocks);
  }
  if (options.json) {
    nlohmann::ordered_json out = format_table_json(asked.formats);
    if (!asked.blocks.empty()) out["block_formats"] = block_table_json(asked.blocks);
    if (options.scale_rules) out["scale_rules"] = scale_rules_json(rules);
    std::cout << json_text(out, 2) << '\n';
    return;
  }
  if (options.scale_rules) {
    std::cout << scale_rules_text(rules);
    return;
  }
  if (!asked.formats.empty()) std::cout << format_table_text(asked.formats);
  if (!asked.formats.empty() && !asked.blocks.empty()) std::cout << '\n';
  if (!asked.blocks.empty()) std::cout << block_table_text(asked.blocks);
}

void define_formats(App app, int& status) {
  const auto options = std::make_shared<FormatsOptions>();
  app.add_option("name", options->names,
                 "formats to show, as names or specifications (default: all that have a name)")
      .suggest(all_format_words)
      .delimiter(',');
  app.add_flag("--scale-rules", options->scale_rules,
               "show the rules by which stacks get the scales of these block formats (default: of "
               "all), step by step");
  app.add_flag("--json", options->json, "print JSON instead of text, every number exact");
  app.footer(std::string("\nThe thresholds at which a value becomes zero or overflows are those of "
                         "rounding to nearest, ties to\neven, with gradual underflow.\n\n") +
             format_spec_help + "\n\n" + block_spec_help +
             "\n\nExamples:\n"
             "  binade formats\n"
             "  binade formats nvfp4 --scale-rules\n"
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
