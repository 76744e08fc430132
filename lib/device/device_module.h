// SPDX-License-Identifier: Apache-2.0
//
// What the program and a device module agree on. A module is a shared library of its own beside the
// program, found when open_device() is called, so that one program serves machines with and without a
// GPU. Objects of C++ classes cross this boundary: both sides must have been compiled from the same
// headers, which are those that this one includes, and by the same compiler.
#pragma once

#include "emulate/range_count.h"
#include "emulate/tensor_core.h"
#include "lib/cases/crossing.h"
#include "lib/cases/dots.h"
#include "lib/cases/scalar_cases.h"
#include "lib/device/device.h"
#include "lib/device/matrix_product.h"
#include "lib/device/scalar_tally.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

inline constexpr const char* device_module = "binade_cuda.so";

/// A module's own open_device(); `module.file` is the caller's to fill.
using OpenDevice = void (*)(OpenedDevice&);

}  // namespace binade

extern "C" {
/// A fingerprint of the headers and the compiler, written by device_interface.py. The program and the
/// module have one each, and the program calls a module only where they are equal.
extern const char binade_device_interface[];
/// Defined in the module alone.
void binade_open_device(binade::OpenedDevice& opened);
}
