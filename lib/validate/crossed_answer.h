// SPDX-License-Identifier: Apache-2.0
//
// What `binade validate crossed` tells of each instruction and of all, as text and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/validate/crossed.h"

namespace binade {

/// A line with the counts, and the first dot product that differs; or why the instruction was
/// skipped.
std::string crossed_check_text(const CrossedCheck& check);
/// The same as JSON: an entry of "instructions" of binade.validate_crossed/1.
nlohmann::ordered_json crossed_check_json(const CrossedCheck& check);

/// The counts of all instructions of a device, and the whole document with `checks`.
std::string crossed_text(const std::string& device, const CrossTally& total);
nlohmann::ordered_json crossed_json(const std::string& device, const CrossedWhat& what,
                                    const CrossTally& total, const nlohmann::ordered_json& checks);

}  // namespace binade
