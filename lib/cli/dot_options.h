// SPDX-License-Identifier: Apache-2.0
//
// The options that name an instruction and rows of dot products (arrays a, b, c and d in files), which `binade validate dots`
// and `binade explain dots` share.
#pragma once

#include <string>

#include "lib/cli/parser.h"
#include "lib/validate/dots.h"

namespace binade {

struct DotOptions {
  std::string architecture, instruction;
  DotFiles files;
  std::string c;  ///< file of c; empty if it was not given
};

/// The options that add_dot_options declared, so that each command can say which of them it requires.
struct DotOptionNames {
  Option architecture, instruction, a, b, c, d;
};
/// Declares --arch, --instruction, --a, --b, --c and --d. `options` must live as long as the command.
DotOptionNames add_dot_options(App app, DotOptions& options);

/// The instruction that the options name. Throws Error if the architecture is unknown or has no such instruction.
Instruction instruction_of(const DotOptions& options);
/// The files of a, b, c and d that the options name.
DotFiles files_of(const DotOptions& options);

}  // namespace binade
