// SPDX-License-Identifier: Apache-2.0
//
// `binade show`: one value in one format, bit by bit, and what rounding did to it.
#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cli/attribute_options.h"
#include "lib/cli/command.h"
#include "lib/cli/shown_encoding.h"
#include "lib/tensor/error.h"
#include "lib/tensor/spelling.h"

namespace binade {
namespace {

struct ShowOptions {
  std::vector<std::string> values;
  std::vector<std::string> formats;
  AttributeOptions attributes;
  std::optional<std::int64_t> random;
  bool json = false;
};

Error unknown_word(std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& known) {
  const std::string hint = did_you_mean(name, known);
  return Error("unknown " + std::string(what) + " '" + printable(name) + "'" + hint +
               (hint.empty() ? "; " : " ") + "known are " + listed(known));
}

std::uint32_t random_of(const ShowOptions& options, const Attributes& attributes) {
  if (attributes.rounding != Rounding::stochastic) return 0;
  const std::int64_t most = (std::int64_t{1} << attributes.random_bits) - 1;
  if (!options.random) {
    throw Error("stochastic rounding needs its random number: add --random R with R from 0 to " +
                std::to_string(most));
  }
  if (*options.random < 0 || *options.random > most) {
    throw Error("--random " + std::to_string(*options.random) + ": from 0 to " +
                std::to_string(most) + " with --random-bits " +
                std::to_string(attributes.random_bits));
  }
  return static_cast<std::uint32_t>(*options.random);
}

/// A value that begins with a minus and a letter looks like an option to the parser, which hands it
/// back; everything else it hands back is a mistake.
void take_back_negative_words(App app, ShowOptions& options) {
  const std::vector<std::string> names = app.long_names();
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.size() < 2 || word[0] != '-' || word[1] == '-') {
      throw unknown_word("option", word.substr(0, word.find('=')), {names.begin(), names.end()});
    }
    options.values.push_back(word);
  }
}

void show_values(const ShowOptions& options) {
  if (options.values.empty()) {
    throw Error("show needs a value, as in: binade show 0.1 --format binary16");
  }
  if (options.formats.empty()) {
    throw Error("show needs a format, as in: binade show " + printable(options.values[0]) +
                " --format binary16");
  }
  const Attributes attributes = attributes_of(options.attributes);
  const std::uint32_t random = random_of(options, attributes);
  std::vector<NamedOrCustom> formats;
  for (const std::string& text : options.formats) formats.push_back(parse_format(text));
  std::vector<ShownEncoding> all;
  for (const std::string& value : options.values) {
    const Literal literal = parse_literal(value);
    for (const NamedOrCustom& format : formats) {
      all.push_back(shown(literal, format, attributes, random));
    }
  }
  if (options.json) {
    nlohmann::ordered_json out{{"schema", "binade.show/1"},
                               {"values", nlohmann::ordered_json::array()}};
    for (const ShownEncoding& x : all) out["values"].push_back(json_of(x));
    std::cout << out.dump(2) << '\n';
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) std::cout << (i > 0 ? "\n" : "") << text_of(all[i]);
}

void define_show(App app, int& status) {
  const auto options = std::make_shared<ShowOptions>();
  app.add_option("value", options->values, "numbers or encodings, see below");
  app.add_option("-f,--format", options->formats, "format (repeat it, or separate with commas)")
      .delimiter(',')
      .allow_extra_args(false);
  add_rounding(app, options->attributes);
  add_saturation(app, options->attributes);
  add_flush_results(app, options->attributes);
  add_nan(app, options->attributes);
  add_random_bits(app, options->attributes);
  app.add_option("--random", options->random, "stochastic: the random number r, below 2^n");
  app.add_flag("--json", options->json, "the same as JSON, every number exact");
  app.footer("\n" + std::string(literal_help) + "\n\n" + format_spec_help +
             "\n\nExamples:\n"
             "  binade show 0.1 --format binary16\n"
             "  binade show 2^-25 65520 --format binary16,bfloat16\n"
             "  binade show 465 --format e4m3 --saturation finite\n"
             "  binade show bits:0x7f --format e4m3");
  app.allow_extras();
  app.callback([app, &status, options] {
    take_back_negative_words(app, *options);
    show_values(*options);
    status = 0;
  });
}

}  // namespace

const Command show_command{
    "show", "one value in a format: bits, fields, neighbours, and what rounding did", define_show};

}  // namespace binade
