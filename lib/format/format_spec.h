// SPDX-License-Identifier: Apache-2.0
//
// How users name a format: by its name in the table, or by a specification of their own.
//
//     binary16                        a row of emulate/format.h
//     e5m7                            5 exponent bits, 7 fraction bits; IEEE specials, bias 15
//     ue5m3                           the same without a sign
//     e4m3:specials=ieee:bias=8       a row or eXmY with some of its numbers replaced
#pragma once

#include <string>
#include <string_view>

#include "emulate/format.h"

namespace binade {

struct NamedOrCustom {
  std::string name;  ///< the table's name, else the specification by `spec_of`
  Format format;
};

/// Error with what is wrong, the known names and the nearest where the text names no valid format.
NamedOrCustom parse_format(std::string_view text);

/// The table's name of what other programs call "fp16", "float8_e4m3fn" and the like; other words as they are.
std::string_view table_name_of(std::string_view text);

/// The table's name, or the shortest specification that `parse_format` reads back.
std::string spec_of(const Format& format);

/// "ieee", "nan_only", "none" or "fnuz"
std::string_view specials_name(Specials specials);

/// The syntax in a few lines, for --help.
extern const char* const format_spec_help;

}  // namespace binade
