// SPDX-License-Identifier: Apache-2.0
//
// JSON inside a script element.
#include "lib/page/data_page.h"

#include "lib/text/json_text.h"

namespace binade {

std::string data_page(std::string_view before, const nlohmann::ordered_json& data,
                      std::string_view after) {
  // A name may be "</script>" or "<!--": inside a string, \u003c is the same character.
  std::string out(before);
  for (const char c : json_text(data)) {
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
