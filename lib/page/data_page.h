// SPDX-License-Identifier: Apache-2.0
//
// Puts data into a page that the build assembled (embed.py).
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Returns the page: the halves that embed.py cut it into, with the data between them as JSON. No
/// text in the data can end the script element that holds them; bytes that are no UTF-8 become
/// U+FFFD.
std::string data_page(std::string_view before, const nlohmann::ordered_json& data,
                      std::string_view after);

}  // namespace binade
