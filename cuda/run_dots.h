// SPDX-License-Identifier: Apache-2.0
//
// Dot products through the GPU's own Tensor Core instructions: rows of them, and whole tiles of rows
// crossed with rows.
#pragma once

#include "emulate/tensor_core.h"
#include "lib/cases/crossing.h"
#include "lib/cases/dots.h"
#include "lib/device/device.h"

namespace binade {

/// Fills d, or says why it cannot. Error where CUDA fails.
CannotRun run_dots_on_gpu(const Instruction& instruction, Dots& dots);

/// Runs the tiles of `crossing` and compares every element with the emulator on the GPU. Error where
/// the crossing has not the instruction's own tile (m64n8 for every wgmma) or the pool's rows.
CannotRun tally_crossed_on_gpu(const Instruction& instruction, const Dots& pool,
                               const Crossing& crossing, CrossTally& tally);

}  // namespace binade
