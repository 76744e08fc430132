// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON: the struct, name by name. Schema "binade.range_report/3". Tensors have a "role" where
// their name tells one and a "time" where it tells a step; "roles" are there where there are several,
// "gradients" where there are any ("passed_over": steps whose gradients hold NaN or Inf), a "time" of the report
// where there are two steps or more. /2 had no roles, /1 no time either. Integers above 2^53 are decimal strings; the
// segments' sums count units of 2^(exponent - 52).
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "lib/report/report.h"

namespace binade {

inline constexpr const char* report_schema = "binade.range_report/3";

nlohmann::ordered_json to_json(const Report& report);
/// What stands before the tensors: options, files, formats.
nlohmann::ordered_json report_head_json(const Report& report);

/// An integer of any size, and a loss scale, as they stand in a report.
nlohmann::ordered_json integer_json(std::uint64_t value);
nlohmann::ordered_json scale_json(const LossScale& scale);
/// A report's: with who sets its ends, and what it was taken from.
nlohmann::ordered_json joint_scale_json(const LossScale& scale);

/// As text: one line per tensor, so that reports can be compared line by line.
std::string json_text(const nlohmann::ordered_json& report);

}  // namespace binade
