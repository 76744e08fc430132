// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON, schema "binade.range_report/1": the struct, name by name. Integers above 2^53
// are decimal strings; the segments' sums count units of 2^(exponent - 52).
#pragma once

#include <nlohmann/json.hpp>

#include "lib/report/report.h"

namespace binade {

inline constexpr const char* report_schema = "binade.range_report/1";

nlohmann::ordered_json to_json(const Report& report);

/// As text: one line per tensor, so that reports can be compared line by line.
std::string json_text(const nlohmann::ordered_json& report);

}  // namespace binade
