// SPDX-License-Identifier: Apache-2.0
//
// The interface between the program and a device module. A module is a shared library beside the
// program that open_device() looks for when it is called, so that one program serves machines with
// and without a GPU. Objects of C++ classes cross this boundary, so both sides must have been
// compiled from the same headers, which are those that this one includes, and by the same compiler.
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

/// File name of the module.
inline constexpr const char* device_module = "binade_cuda.so";

/// The type of a module's own open_device(). The caller fills `module.file`.
using OpenDevice = void (*)(OpenedDevice&);

}  // namespace binade

extern "C" {
/// A fingerprint of the headers and the compiler, written by device_interface.py. The program and
/// the module have one each, and the program calls a module only if they are equal.
extern const char binade_device_interface[];
/// The module's entry point, which only the module defines.
void binade_open_device(binade::OpenedDevice& opened);
}
