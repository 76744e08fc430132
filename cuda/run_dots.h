// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products through the GPU's own mma.sync.
#pragma once

#include <optional>
#include <string>

#include "emulate/tensor_core.h"
#include "lib/record/dots.h"

namespace binade {

/// Fills d, or says why it cannot: mma.sync m16n8 of f16, bf16, tf32 and FP8 only. Error where CUDA
/// fails.
std::optional<std::string> run_dots_on_gpu(const Instruction& instruction, Dots& dots);

}  // namespace binade
