// SPDX-License-Identifier: Apache-2.0
//
// Dot products by the Tensor Core instructions of the current GPU: single ones, and whole tiles of
// rows of a crossed with rows of b.
#pragma once

#include "emulate/tensor_core.h"
#include "lib/cases/crossing.h"
#include "lib/cases/dots.h"
#include "lib/device/device.h"

namespace binade {

/// Sets dots.d to the results of all rows, or returns why there are none: no kernel, or no code for
/// this GPU. Throws Error if CUDA fails or the rows do not fit each other.
CannotRun run_dots_on_gpu(const Instruction& instruction, Dots& dots);

/// Executes the tiles of `crossing`, compares every element with the emulator on the GPU and sets
/// `tally`, or returns why it cannot: no kernel, or no code for this GPU. Throws Error if CUDA
/// fails, or if m and n of the crossing are not the instruction's (for wgmma always m64n8) or its
/// rows not the pool's.
CannotRun tally_crossed_on_gpu(const Instruction& instruction, const Dots& pool,
                               const Crossing& crossing, CrossTally& tally);

}  // namespace binade
