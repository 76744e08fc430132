// SPDX-License-Identifier: Apache-2.0
//
// What is said about a device and its checks: as text for people, as JSON for programs.
#pragma once

#include <span>
#include <string>

#include "lib/record/device.h"

namespace binade {

/// Compared on at least one instruction, and no bit differs that the instruction defines.
bool all_equal(std::span<const ConversionCheck> checks);

/// Name, compute capability, size and CUDA versions; or why there is no device.
std::string device_text(const OpenedDevice& opened);

/// One row per instruction, then the first differing inputs of those that differ.
std::string checks_text(std::span<const ConversionCheck> checks);

/// Schema "binade.device/1": the device or null with the reason, and the checks that were made.
std::string device_json(const OpenedDevice& opened, std::span<const ConversionCheck> checks);

}  // namespace binade
