// SPDX-License-Identifier: Apache-2.0
//
// `binade validate gemm`: a kernel's whole D against the emulated product.
#pragma once

#include <CLI/CLI.hpp>

namespace binade {

void define_validate_gemm(CLI::App& app, int& status);

}  // namespace binade
