// SPDX-License-Identifier: Apache-2.0
//
// The loss account as an HTML page that explains how to read it: one file, which makes no request
// to the network.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

std::string account_html(const nlohmann::ordered_json& account);

}  // namespace binade
