// SPDX-License-Identifier: Apache-2.0
//
// Writes the manual page binade(1) from the program's commands, with the texts of --help.
#pragma once

#include <string>
#include <string_view>

#include "lib/cli/command_tree.h"

namespace binade {

/// The page in roff, with the macros of man(7) and in plain ASCII.
std::string man_page(const CommandTree& program, std::string_view version);

/// The text that ends a command's --help, as roff: what is indented there becomes a list if it has
/// two columns, else it keeps its lines, and commands that are too long go on in the next one; the
/// rest becomes paragraphs.
std::string man_footer(std::string_view text);

/// The text as one paragraph of roff, in lines of at most 80 bytes where it can be broken; `code`
/// between backquotes is bold.
std::string roff_paragraph(std::string_view text);

/// The text with every character that roff would read otherwise escaped: by its name, or a '.' at
/// the beginning by \&.
std::string roff_escaped(std::string_view text);

}  // namespace binade
