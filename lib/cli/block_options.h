// SPDX-License-Identifier: Apache-2.0
//
// Options of `binade quantize` for block formats.
#pragma once

#include <string>

#include "lib/block/block_file.h"
#include "lib/cli/parser.h"
#include "lib/explain/attribute_words.h"

namespace binade {

struct BlockOptions {
  std::string scale_rule, ragged = "pad", layout, scale_layout;
  int axis = -1;
  bool stack = false;
};

/// Declares --scale-rule, --axis, --ragged, --layout and --scale-layout, in a group of the help.
void add_block_options(App app, BlockOptions& options);

/// Returns the order of scales of a name. Throws Error, which lists the names, if there is none.
const ScaleLayout& parse_scale_layout(const std::string& name);

/// Throws Error if one of the options was given for a format that is no block format.
void check_no_block_options(App app);

/// Returns what the options and attributes say of a block format. Throws Error if a word is wrong
/// or has no effect.
BlockFileRule block_rule_of(const std::string& format, const BlockOptions& options,
                            const AttributeOptions& attributes, std::uint64_t seed, bool encode);

}  // namespace binade
