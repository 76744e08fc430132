// SPDX-License-Identifier: Apache-2.0
//
// `binade validate gemm`: compares a kernel's whole result D with the emulated product.
#pragma once

#include "lib/cli/parser.h"

namespace binade {

/// Adds the command `gemm` to `app`; running it sets `status` to the exit status.
void define_validate_gemm(App app, int& status);

}  // namespace binade
