// SPDX-License-Identifier: Apache-2.0
//
// Measures the rates of the bulk kernels on the current GPU, most of them beside a limit: the rate
// of another program that was measured in the same run, or an estimate.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// Returns rates of copies of device memory, which have no limit; of quantize and range_count
/// beside the faster copy; of emulated products beside an estimate from the clock of GPU 0; and of
/// "gemm", which uses the mma.sync of architecture `sm` (90: sm_90), beside cuBLAS if there is one.
/// Throws Error if CUDA fails.
std::vector<KernelRate> measure_rates_on_gpu(int sm);

}  // namespace binade
