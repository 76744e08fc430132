// SPDX-License-Identifier: Apache-2.0
//
// What is said about a device and its scalar instructions: as text for people, as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "lib/device/device.h"
#include "lib/validate/scalar.h"

namespace binade {

/// Name, compute capability, size, CUDA versions and the module; or, in one line, why there is no device.
std::string device_text(const OpenedDevice& opened);

/// One row per instruction, the counts, then the first differing cases of those that differ.
std::string checks_text(std::span<const ScalarCheck> checks);

/// The first differing cases of one, a line each: operands and both results, bits and values.
std::string differences_text(const ScalarCheck& check);
nlohmann::ordered_json scalar_check_json(const ScalarCheck& check);

/// Schema "binade.device/2": the device or null with the reason, and the checks that were made.
std::string device_json(const OpenedDevice& opened, std::span<const ScalarCheck> checks,
                        std::span<const KernelCheck> kernels = {},
                        std::span<const KernelRate> rates = {});

}  // namespace binade
