// SPDX-License-Identifier: Apache-2.0
//
// `binade show`: single values in formats, bit by bit, and what rounding did to them.
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
#include "lib/cli/suggestions.h"
#include "lib/explain/shown_block.h"
#include "lib/explain/shown_encoding.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct ShowOptions {
  ShowQuestion question;
  ShowBlockQuestion block;
  bool json = false;
};

Error unknown_word(std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& known) {
  const std::string hint = did_you_mean(name, known);
  return Error("unknown " + std::string(what) + " '" + printable(name) + "'" + hint +
               (hint.empty() ? "; " : " ") + "known are " + listed(known));
}

/// Adds words that the parser took for unknown options but which are values with a minus, such as
/// -inf. Throws Error for any other word that it did not know.
void take_back_negative_words(App app, ShowOptions& options) {
  const std::vector<std::string> names = app.long_names();
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.size() < 2 || word[0] != '-' || word[1] == '-') {
      throw unknown_word("option", word.substr(0, word.find('=')), {names.begin(), names.end()});
    }
    options.question.values.push_back(word);
  }
}

void show_values(const ShowOptions& options) {
  const std::vector<ShownEncoding> all = shown_values(options.question);
  if (options.json) {
    std::cout << json_text(shown_encodings_json(all), 2) << '\n';
  } else {
    std::cout << shown_encodings_text(all);
  }
}

/// Throws Error if something of a block is asked for, and no numbers are given for it.
void check_no_block(const ShowOptions& options) {
  refuse_idle(std::array{
      IdleOption{"--scale-rule", !options.block.rules.empty(), "without --block"},
      IdleOption{"--tensor-amax", !options.block.tensor_amax.empty(), "without --block"},
      IdleOption{"--dtype", !options.block.input.empty(), "without --block"},
  });
  for (const std::string& format : options.question.formats) {
    if (!names_block_format(format)) continue;
    throw Error("--format " + printable(format) +
                ": a block format, whose numbers are shown together; give them as --block \"0.1 -3 "
                "7\"");
  }
}

void show_block(ShowOptions& options) {
  const ShowQuestion& other = options.question;
  if (!other.values.empty()) {
    throw Error("'" + printable(other.values[0]) +
                "': the numbers of a block stand in the one argument of --block: \"0.1 -3 7\"");
  }
  if (other.formats.size() != 1) {
    throw Error("--block: one block format is wanted; add --format mxfp4");
  }
  options.block.format = other.formats[0];
  const AttributeOptions usual;
  const std::string on = "on a block, whose elements saturate and are not flushed";
  refuse_idle(std::array{
      IdleOption{"--saturation", other.attributes.saturation != usual.saturation, on},
      IdleOption{"--nan", other.attributes.nan != usual.nan, on},
      IdleOption{"--ftz", other.attributes.flush_results, on},
      IdleOption{"--random-bits", other.attributes.random_bits != usual.random_bits, on},
      IdleOption{"--random", other.random.has_value(), on},
  });
  if (other.attributes.rounding != usual.rounding) {
    options.block.rounding = other.attributes.rounding;
  }
  const ShownBlock shown = shown_block(options.block);
  if (options.json) {
    std::cout << json_text(shown_block_json(shown), 2) << '\n';
  } else {
    std::cout << shown_block_text(shown);
  }
}

void define_show(App app, int& status) {
  const auto options = std::make_shared<ShowOptions>();
  app.add_option("value", options->question.values,
                 "numbers or encodings; their spelling is explained below");
  app.add_option("-f,--format", options->question.formats,
                 "format in which to show the values: a name or a specification, explained below. "
                 "Several are separated by commas, or the option is repeated")
      .suggest(all_format_words)
      .delimiter(',')
      .allow_extra_args(false);
  add_rounding(app, options->question.attributes);
  add_saturation(app, options->question.attributes);
  add_flush_results(app, options->question.attributes);
  add_nan(app, options->question.attributes);
  add_random_bits(app, options->question.attributes);
  app.add_option(
      "--random", options->question.random,
      "the random number that --rounding stochastic adds, below 2^n where n is --random-bits");
  const char* const block = "One block of a block format";
  app.add_option("--block", options->block.numbers,
                 "numbers that share a scale, such as \"0.1 -3 7\": the scale, the codes and the "
                 "values that rules make of them")
      .group(block);
  app.add_option("--scale-rule", options->block.rules,
                 "whose rules, by the names of `binade formats --scale-rules`; all: each that fits "
                 "(default: the first that fits)")
      .suggest(scale_rule_words)
      .delimiter(',')
      .group(block);
  app.add_option("--tensor-amax", options->block.tensor_amax,
                 "largest magnitude of the whole tensor, where a second scale lies over it "
                 "(default: that of the block)")
      .group(block);
  app.add_option("--dtype", options->block.input,
                 "dtype of the tensor, such as bfloat16: the numbers are rounded to it, and so are "
                 "the steps that a stack computes in the dtype of its input (default: binary32)")
      .suggest(dtype_words)
      .group(block);
  app.add_flag("--json", options->json, "print JSON instead of text, every number exact");
  app.footer("\n" + std::string(literal_help) + "\n\n" + format_spec_help + "\n\n" +
             block_spec_help +
             "\n\nExamples:\n"
             "  binade show 0.1 --format binary16\n"
             "  binade show 2^-25 65520 --format binary16,bfloat16\n"
             "  binade show 465 --format e4m3 --saturation finite\n"
             "  binade show bits:0x7f --format e4m3\n"
             "  binade show --block \"0.1 -3 7\" --format mxfp4 --scale-rule all\n\n"
             "Exit status: 0 the values were shown, 2 a value, a format or an option is wrong.");
  app.allow_extras();
  app.callback([app, &status, options] {
    take_back_negative_words(app, *options);
    if (app.count("--block") == 0) {
      check_no_block(*options);
      show_values(*options);
    } else {
      show_block(*options);
    }
    status = 0;
  });
}

}  // namespace

const Command show_command{
    "show", "show values in a format: bits, fields, neighbours, and what rounding did",
    "Shows values in a format: the bits and fields of the encoding, its exact value, the "
    "neighbours, and, if the value had to be rounded, what that changed.",
    define_show, "[explain](lib/explain/README.md#why-did-this-value-become-that)"};

}  // namespace binade
