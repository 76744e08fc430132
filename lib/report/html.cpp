// SPDX-License-Identifier: Apache-2.0
//
// Puts the data into the page that the build assembled from lib/report/page.
#include "lib/report/html.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/tensor/data_page.h"

namespace binade {

extern const std::string_view report_page_before_data;
extern const std::string_view report_page_after_data;

std::string report_html(const nlohmann::ordered_json& report) {
  return data_page(report_page_before_data, report, report_page_after_data);
}

}  // namespace binade
