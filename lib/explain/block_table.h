// SPDX-License-Identifier: Apache-2.0
//
// Block formats and scale rules as tables that `binade formats` prints, as text and JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/format/block_spec.h"

namespace binade {

/// Returns a line for each: elements, block, scale, and the bits that a number takes in a large
/// tensor with its share of the scales.
std::string block_table_text(std::span<const NamedOrCustomBlock> rows);
nlohmann::ordered_json block_table_json(std::span<const NamedOrCustomBlock> rows);

/// The rows of scale_rules that fit one of these formats, or all if there are none.
std::vector<const NamedScaleRule*> rules_for(std::span<const NamedOrCustomBlock> chosen);

/// Returns the steps and the source of each rule.
std::string scale_rules_text(std::span<const NamedScaleRule* const> rules);
nlohmann::ordered_json scale_rules_json(std::span<const NamedScaleRule* const> rules);

}  // namespace binade
