// SPDX-License-Identifier: Apache-2.0
//
// `binade validate crossed`: every Tensor Core instruction of a GPU on whole tiles, compared with
// the emulator on the GPU itself.
#pragma once

#include "lib/cli/parser.h"

namespace binade {

/// Adds the command `crossed` to `validate`; running it sets `status` to the exit status.
void define_validate_crossed(App validate, int& status);

}  // namespace binade
