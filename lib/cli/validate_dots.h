// SPDX-License-Identifier: Apache-2.0
//
// `binade validate dots`: compares recorded dot products with the emulator.
#pragma once

#include "lib/cli/parser.h"

namespace binade {

inline constexpr const char* evidence_help =
    "print for every rival rule (another published rule) how many rows distinguish it from ours, "
    "and which of the two they follow";

/// Adds the command `dots` to `app`; running it sets `status` to the exit status.
void define_validate_dots(App app, int& status);

}  // namespace binade
