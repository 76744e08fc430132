// SPDX-License-Identifier: Apache-2.0
//
// Puts the data into the page that the build assembled from lib/report/page.
#include "lib/report/html.h"

#include <cstddef>
#include <string_view>

namespace binade {

extern const std::string_view page_before_data;
extern const std::string_view page_after_data;

std::string report_html(const nlohmann::ordered_json& report) {
  // A tensor may be called "</script>" or "<!--": inside a string, \u003c is the same character.
  const std::string data =
      report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out(page_before_data);
  for (const char c : data) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += page_after_data;
  return out;
}

}  // namespace binade
