// SPDX-License-Identifier: Apache-2.0
//
// A conversion instruction beside its emulation on the current GPU.
#pragma once

#include "cuda/conversions.h"
#include "cuda/tally.h"

namespace binade {

/// The inputs first … end - 1 through the instruction and through its emulation, both on the GPU.
Tally run_slice(const ConversionRow& row, Count first, Count end);

/// Whether this program holds machine code that the current GPU runs.
bool has_code_for_device();

}  // namespace binade
