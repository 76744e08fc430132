// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices on the current GPU, by whichever kernel has the instruction.
#pragma once

#include "lib/device/matrix_product.h"

namespace binade {

/// Each sum becomes its `chain`. By the GPU's own instruction where `sm`, the GPU's architecture, is the
/// product's and there is a kernel of that very instruction; else by the emulator's arithmetic.
ProductWay multiply_on_gpu(int sm, const MatrixProduct& product);

}  // namespace binade
