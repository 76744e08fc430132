// SPDX-License-Identifier: Apache-2.0
//
// The options that name a matrix product, which several commands share.
#pragma once

#include <string>

#include "lib/cli/parser.h"
#include "lib/gemm/gemm_words.h"

namespace binade {

/// Returns the help of the file of the matrix A, as a clause.
std::string matrix_a_help();

/// Declares the positionals A, B and C and all options. `options` must live as long as the command.
void add_gemm_options(App app, GemmOptions& options);

}  // namespace binade
