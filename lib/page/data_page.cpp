// SPDX-License-Identifier: Apache-2.0
//
// JSON inside a script element.
#include "lib/page/data_page.h"

#include <nlohmann/json.hpp>

namespace binade {

std::string data_page(std::string_view before, const nlohmann::ordered_json& data,
                      std::string_view after) {
  // A name may be "</script>" or "<!--": inside a string, \u003c is the same character.
  const std::string text =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out(before);
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += after;
  return out;
}

}  // namespace binade
