// SPDX-License-Identifier: Apache-2.0
//
// Compares the results of the bulk kernels on the current GPU with their definitions in emulate/, which
// the host computes.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// Returns a check for each kernel and case. The matrix products use the mma.sync of architecture `sm` (90: sm_90).
/// Throws Error if CUDA fails.
std::vector<KernelCheck> check_kernels_on_gpu(int sm);

}  // namespace binade
