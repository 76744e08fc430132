// SPDX-License-Identifier: Apache-2.0
//
// A page that the build assembled, with the data in the place that waits for it.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace binade {

std::string data_page(std::string_view before, const nlohmann::ordered_json& data,
                      std::string_view after);

}  // namespace binade
