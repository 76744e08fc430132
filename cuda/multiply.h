// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on the current GPU, by the kernel that fits the instruction.
#pragma once

#include "lib/device/matrix_product.h"

namespace binade {

/// Replaces each of product.sums by its `chain` and returns how: by the GPU's own instruction if
/// the product's instruction is of architecture `sm`, the GPU's, with the model of that
/// architecture, and has a kernel; else by the emulator's arithmetic. Throws Error if CUDA fails.
ProductWay multiply_on_gpu(int sm, const MatrixProduct& product);

}  // namespace binade
