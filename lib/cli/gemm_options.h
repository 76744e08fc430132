// SPDX-License-Identifier: Apache-2.0
//
// The options that name a matrix product, which several commands share.
#pragma once

#include "lib/cli/parser.h"
#include "lib/gemm/gemm_words.h"

namespace binade {

/// The help of the file of the matrix A, as a clause.
inline constexpr const char* matrix_a_help =
    "file of the matrix A, of shape (M, K): .npy, .safetensors, .npz or torch's .pt, written "
    "FILE:NAME if the file holds several arrays";

/// Declares the positionals A, B and C and all options. `options` must live as long as the command.
void add_gemm_options(App app, GemmOptions& options);

}  // namespace binade
