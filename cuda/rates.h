// SPDX-License-Identifier: Apache-2.0
//
// Measures the rates of the bulk kernels on the current GPU, each beside a limit measured in the same run.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// Returns a rate for each kernel. The matrix products use the mma.sync of architecture `sm` (90: sm_90).
/// Throws Error if CUDA fails.
std::vector<KernelRate> measure_rates_on_gpu(int sm);

}  // namespace binade
