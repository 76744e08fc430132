// SPDX-License-Identifier: Apache-2.0
//
// How users name a block format and a scale rule: by their names in the tables of emulate/block.h
// and emulate/scale_rules.h, or a block format by a specification of their own.
//
//     nvfp4                              a row of emulate/block.h
//     e2m1:block=1x32:scale=e8m0         elements, which of them share a scale, its format
//     e3m2:block=row:scale=binary32      a scale for each row; column and tensor likewise
//     nvfp4:block=16x16                  a row with some of its parts replaced
//     e2m1:block=1x16:scale=ue4m3:tensor=yes    a second scale, of binary32, over the tensor
#pragma once

#include <string>
#include <string_view>

#include "emulate/block.h"
#include "emulate/scale_rules.h"

namespace binade {

struct NamedOrCustomBlock {
  std::string name;  ///< its name in the table, or else the specification
  BlockFormat format;
};

/// Returns whether a text means a block format: it begins with a name of the table, or has the part
/// "block=".
bool names_block_format(std::string_view text);

/// Returns the block format that the text names. Throws Error, as parse_format() does.
NamedOrCustomBlock parse_block_format(std::string_view text);

/// Returns the block format's name in the table, or else a specification that
/// parse_block_format() reads: "e2m1:block=1x32:scale=e8m0".
std::string spec_of(const BlockFormat& format);

/// Returns "1x32", "row", "column" or "tensor".
std::string shape_words(const BlockShape& shape);

/// Returns the row of a rule's name that fits the format; without a name, the usual one. Throws
/// Error if there is none; the message lists those that fit.
const NamedScaleRule& parse_scale_rule(std::string_view name, const NamedOrCustomBlock& format);

/// A few lines of text, for --help, that explain the syntax above.
extern const char* const block_spec_help;

}  // namespace binade
