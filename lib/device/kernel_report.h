// SPDX-License-Identifier: Apache-2.0
//
// What is said about a device's bulk kernels: as text for people, as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "lib/device/kernel_check.h"

namespace binade {

/// Something was compared by each check, at least by one, and nothing differs.
bool all_equal(std::span<const KernelCheck> checks);

/// A row per kernel with its cases and results; then each case that differs, and each that compared
/// nothing.
std::string kernel_checks_text(std::span<const KernelCheck> checks);

/// A row per rate, with its share of the limit where there is one.
std::string kernel_rates_text(std::span<const KernelRate> rates);

/// Arrays of objects with the fields of the structs, and "status" and "share".
nlohmann::ordered_json kernel_checks_json(std::span<const KernelCheck> checks);
nlohmann::ordered_json kernel_rates_json(std::span<const KernelRate> rates);

}  // namespace binade
