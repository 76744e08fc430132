// SPDX-License-Identifier: Apache-2.0
//
// Puts the data into the page that the build assembled from lib/report/page.
#include "lib/report/html.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/report/json.h"
#include "lib/tensor/data_page.h"

namespace binade {

extern const std::string_view report_page_before_data;
extern const std::string_view report_page_after_data;

std::string report_html(const Report& report) {
  JsonTensors tensors;
  for (const TensorReport& t : report.tensors) tensors.add(tensor_json(t, report.options));
  std::string json;
  write_json(report, tensors, [&json](std::string_view text) { json += text; });
  return data_page(report_page_before_data, nlohmann::ordered_json::parse(json),
                   report_page_after_data);
}

}  // namespace binade
