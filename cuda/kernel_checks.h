// SPDX-License-Identifier: Apache-2.0
//
// The bulk kernels of the current GPU against their definitions in emulate/, on the host.
#pragma once

#include <vector>

#include "lib/device/kernel_check.h"

namespace binade {

/// `sm`: the architecture whose mma.sync the products of matrices are made of.
std::vector<KernelCheck> check_kernels_on_gpu(int sm);

}  // namespace binade
