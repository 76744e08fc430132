// SPDX-License-Identifier: Apache-2.0
//
// The subcommand `crossed` of `binade validate`.
#pragma once

#include "lib/cli/options.h"

namespace binade {

void define_validate_crossed(App validate, int& status);

}  // namespace binade
