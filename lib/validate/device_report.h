// SPDX-License-Identifier: Apache-2.0
//
// What is reported about a device and its scalar instructions: as text for people and as JSON for
// programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "lib/device/device.h"
#include "lib/validate/scalar.h"

namespace binade {

/// Returns the device's name, compute capability, multiprocessors, memory, CUDA versions, and the
/// file of the device module (binade_cuda.so); the name alone of the emulator in a GPU's place; or
/// one line that says why there is no device.
std::string device_text(const OpenedDevice& opened);

/// Returns one row for each instruction, how many instructions are equal, different, recorded only
/// and skipped, and the first differing cases of instructions that differ.
std::string checks_text(std::span<const ScalarCheck> checks);

/// Returns the first differing cases of an instruction, one on each line: operands and both
/// results, as bits and values.
std::string differences_text(const ScalarCheck& check);
nlohmann::ordered_json scalar_check_json(const ScalarCheck& check);

/// Returns JSON of schema "binade.device/2": the device, or null with the reason; the device
/// module; the checks of scalar instructions and of kernels that were made; and the measured rates,
/// with units.
std::string device_json(const OpenedDevice& opened, std::span<const ScalarCheck> checks,
                        std::span<const KernelCheck> kernels = {},
                        std::span<const KernelRate> rates = {});

}  // namespace binade
