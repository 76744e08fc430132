// SPDX-License-Identifier: Apache-2.0
//
// Compares a recording of a whole product with the emulator. The recording is a .safetensors file
// with the tensors a (M, K), b (K, N) and d (M, N), and c (M, N) and bias (N,) if the kernel had
// them. `command` in its metadata holds the options of `binade gemm` that describe the kernel.
#pragma once

#include <cstddef>
#include <string>

#include "lib/instruction/rule_choice.h"
#include "lib/validate/gemm_answer.h"

namespace binade {

struct ReplayedProduct {
  std::string path;
  ValidateGemmOptions options;
  GemmValidation validation;
};

/// Reads the recording and compares every element; `show` is how many differences are kept. Fused
/// sums follow `rules` if any was chosen. Throws Error, which names the file, if something in it
/// does not fit.
ReplayedProduct replayed_product(const std::string& path, std::size_t show,
                                 const RuleChoice& rules);

}  // namespace binade
