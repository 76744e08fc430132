// SPDX-License-Identifier: Apache-2.0
//
// The subcommand `crossed` of `binade validate`.
#pragma once

#include <CLI/CLI.hpp>

namespace binade {

void define_validate_crossed(CLI::App& validate, int& status);

}  // namespace binade
