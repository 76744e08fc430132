// SPDX-License-Identifier: Apache-2.0
//
// The options that say which rows of dot products are meant: instruction, architecture, arrays. Shared by
// the commands that validate and explain them.
#pragma once

#include <string>

#include "lib/cli/options.h"
#include "lib/validate/dots.h"

namespace binade {

struct DotOptions {
  std::string architecture, instruction;
  DotFiles files;
  std::string c;
};

/// What was added, for each command to say what it needs.
struct DotOptionNames {
  Option architecture, instruction, a, b, c, d;
};
DotOptionNames add_dot_options(App app, DotOptions& options);

Instruction instruction_of(const DotOptions& options);
DotFiles files_of(const DotOptions& options);

}  // namespace binade
