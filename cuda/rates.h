// SPDX-License-Identifier: Apache-2.0
//
// How fast the bulk kernels of the current GPU are, each beside a limit of the same run.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// `sm`: the architecture whose mma.sync the products of matrices are made of.
std::vector<KernelRate> measure_rates_on_gpu(int sm);

}  // namespace binade
