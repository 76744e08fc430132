// SPDX-License-Identifier: Apache-2.0
//
// A recording of a whole product, held against the emulator: a .safetensors file with a (M, K), b (K, N) and d (M, N), and c
// and bias where there were any, whose metadata's `command` are the options of `binade gemm` that say what the kernel does.
#pragma once

#include <cstddef>
#include <string>

#include "lib/cli/rule_options.h"
#include "lib/cli/validate_gemm.h"

namespace binade {

struct ReplayedProduct {
  std::string path;
  ValidateGemmOptions options;
  GemmValidation validation;
};

/// Error with the file and what of it does not fit. Fused sums follow `rules` where there are any.
ReplayedProduct replayed_product(const std::string& path, std::size_t show,
                                 const RuleChoice& rules);

}  // namespace binade
