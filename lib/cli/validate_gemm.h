// SPDX-License-Identifier: Apache-2.0
//
// `binade validate gemm`: a kernel's whole D against the emulated product.
#pragma once

#include "lib/cli/options.h"

namespace binade {

void define_validate_gemm(App app, int& status);

}  // namespace binade
