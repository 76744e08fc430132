// SPDX-License-Identifier: Apache-2.0
//
// Compares the results of the bulk kernels on the current GPU with their definitions in emulate/,
// which the host computes.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// Returns a check for each kernel and case. The checks of "gemm" use the mma.sync of architecture
/// `sm` (90: sm_90); those of "emulated matmul" go over the models of all architectures but the
/// integer ones. Throws Error if CUDA fails.
std::vector<KernelCheck> check_kernels_on_gpu(int sm);

}  // namespace binade
