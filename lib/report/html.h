// SPDX-License-Identifier: Apache-2.0
//
// The report's JSON inside a page that explains how to read it: one file, no external request.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

std::string report_html(const nlohmann::ordered_json& report);

}  // namespace binade
