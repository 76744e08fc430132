// SPDX-License-Identifier: Apache-2.0
//
// How users name a format: by its name in the table of emulate/format.h, by another program's name
// for a row of the table (fp16, float8_e4m3fn), or by a specification of their own.
//
//     binary16                        a row of emulate/format.h
//     e5m7                            5 exponent bits, 7 fraction bits; IEEE specials, bias 15
//     ue5m3                           5 exponent bits, 3 fraction bits, no sign
//     e4m3:specials=ieee:bias=8       a row or eXmY with some of its numbers replaced
#pragma once

#include <string>
#include <string_view>

#include "emulate/format.h"

namespace binade {

struct NamedOrCustom {
  std::string name;  ///< its name in the table, or else the specification that spec_of() gives
  Format format;
};

/// Returns the format that the text names; the case of the name does not matter. Throws Error if
/// the text names no valid format; the message says what is wrong, or lists the known names and the
/// nearest of them.
NamedOrCustom parse_format(std::string_view text);

/// Returns the table's name of a format that other programs call "fp16", "float8_e4m3fn" and the
/// like, in lower case; any other word is returned unchanged.
std::string_view table_name_of(std::string_view text);

/// Returns the format's name in the table, or else its widths and each number in which it differs
/// from the format that these widths name: "e4m3:bias=8". parse_format() makes the format again.
std::string spec_of(const Format& format);

/// Returns "ieee", "nan_only", "none" or "fnuz".
std::string_view specials_name(Specials specials);

/// A few lines of text, for --help, that explain the syntax above.
extern const char* const format_spec_help;

}  // namespace binade
