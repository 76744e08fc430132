// SPDX-License-Identifier: Apache-2.0
//
// `binade check --in X --codes CODES`: which rules of conversion explain what a converter gave.
#pragma once

#include <cstddef>

#include "lib/cli/parser.h"
#include "lib/identify/conversion_files.h"

namespace binade {

/// Declares --in, --codes, --format and --dtype. `files` must live as long as the command.
void add_code_options(App app, ConversionFiles& files);

/// Prints the rules and returns the exit status. Throws Error as read_conversion does.
int check_codes(const ConversionFiles& files, bool json, std::size_t show);

}  // namespace binade
