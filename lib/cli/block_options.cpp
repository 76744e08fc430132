// SPDX-License-Identifier: Apache-2.0
//
// Words of options to the values of block formats' tables.
#include "lib/cli/block_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lib/cli/suggestions.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

std::vector<std::string> texts_of(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

}  // namespace

const ScaleLayout& parse_scale_layout(const std::string& name) {
  if (const ScaleLayout* found = find_scale_layout(name)) return *found;
  throw Error("--scale-layout: no layout '" + printable(name) + "'; choose " +
              alternatives(names_of(scale_layouts)));
}

void add_block_options(App app, BlockOptions& options) {
  const char* const group = "Block formats";
  app.add_option(
         "--scale-rule", options.scale_rule,
         "whose rule makes the scales, a name of `binade formats --scale-rules`; some "
         "compute in the dtype of the tensor (default: that of the stack of --layout, or the "
         "first that fits the format)")
      .suggest([] {
        std::vector<std::string> words = scale_rule_words();
        std::erase(words, "all");
        return words;
      })
      .group(group);
  app.add_option(
         "--axis", options.axis,
         "the axis along which blocks lie, K; -1 is the last. Blocks of several rows lie in "
         "the last two")
      .capture_default_str()
      .group(group);
  app.add_flag(
         "--stack", options.stack,
         "along the first axis of tensors of 3 axes or more lie tensors of their own, such as "
         "experts: each has its amax, and its scale where one lies over the tensor")
      .group(group);
  app.add_option("--ragged", options.ragged,
                 "blocks that an axis does not fill: pad (as with zeros, which change no scale) or "
                 "refuse")
      .suggest([] {
        return std::vector<std::string>{"pad", "refuse"};
      })
      .capture_default_str()
      .group(group);
  app.add_option("--layout", options.layout,
                 "with --encode, by whose names codes and scales are written: " +
                     alternatives(names_of(checkpoint_layouts)) + " (default: plain)")
      .suggest([] { return texts_of(names_of(checkpoint_layouts)); })
      .group(group);
  app.add_option(
         "--scale-layout", options.scale_layout,
         "with --encode, the order of the scales: " + alternatives(names_of(scale_layouts)) +
             " (default: that of --layout); with --decode, the order in which they are "
             "(default: what the file's metadata say, or that of its names)")
      .suggest([] { return texts_of(names_of(scale_layouts)); })
      .group(group);
}

void check_no_block_options(App app) {
  for (const char* name : {"--scale-rule", "--axis", "--stack", "--ragged", "--layout",
                           "--scale-layout", "--include", "--exclude"}) {
    refuse_idle(
        std::array{IdleOption{name, app.count(name) > 0, "without a block format, such as mxfp4"}});
  }
}

BlockFileRule block_rule_of(const std::string& format, const BlockOptions& options,
                            const AttributeOptions& attributes, std::uint64_t seed, bool encode) {
  if (options.ragged != "pad" && options.ragged != "refuse") {
    throw Error("--ragged: '" + printable(options.ragged) + "' is neither pad nor refuse");
  }
  refuse_idle(std::array{
      IdleOption{"--layout", !options.layout.empty() && !encode, "without --encode"},
      IdleOption{"--scale-layout", !options.scale_layout.empty() && !encode,
                 "without --encode or --decode"},
  });
  BlockFileRule out{.format = parse_block_format(format),
                    .attributes = element_attributes_of(attributes),
                    .seed = seed,
                    .axis = options.axis,
                    .refuses_ragged = options.ragged == "refuse",
                    .stack = options.stack};
  refuse_idle(
      std::array{IdleOption{"--axis", options.axis != -1 && out.format.format.is_of_tensor(),
                            "with one scale for a tensor"}});
  check_seed(out.attributes, seed);
  out.rule = &parse_scale_rule(options.scale_rule, out.format);
  if (encode) {
    out.layout = &parse_checkpoint_layout(options.layout.empty() ? "plain" : options.layout);
    if (options.scale_rule.empty()) {
      out.rule = &usual_rule(*out.layout, out.format.format, *out.rule);
    }
    if (!options.scale_layout.empty()) out.scale_layout = &parse_scale_layout(options.scale_layout);
  }
  check_block_rule(out);
  return out;
}

}  // namespace binade
