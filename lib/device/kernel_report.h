// SPDX-License-Identifier: Apache-2.0
//
// Reports on a device's bulk kernels, as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "lib/device/kernel_check.h"

namespace binade {

/// Returns whether there is at least one check, each check compared something, and nothing differs.
bool all_equal(std::span<const KernelCheck> checks);

/// Returns a row for each kernel with its numbers of cases and results, then a line for each case
/// that differs or compared nothing.
std::string kernel_checks_text(std::span<const KernelCheck> checks);

/// Returns a row for each rate, with its share of the limit where there is one.
std::string kernel_rates_text(std::span<const KernelRate> rates);

/// Return arrays of objects with the fields of the structs. Each check has a "status", and "first"
/// only if something differs; a rate has "share" if there is a limit, else its "limit" is null.
nlohmann::ordered_json kernel_checks_json(std::span<const KernelCheck> checks);
nlohmann::ordered_json kernel_rates_json(std::span<const KernelRate> rates);

}  // namespace binade
