// SPDX-License-Identifier: Apache-2.0
//
// The loss account's JSON inside a page that explains how to read it: one file, no external request.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

std::string account_html(const nlohmann::ordered_json& account);

}  // namespace binade
