// SPDX-License-Identifier: Apache-2.0
//
// Puts the results into the page that the build assembled from lib/runs/page.
#include "lib/runs/results_html.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/page/data_page.h"

namespace binade {

extern const std::string_view runs_page_before_data;
extern const std::string_view runs_page_after_data;

std::string results_html(const nlohmann::ordered_json& results) {
  return data_page(runs_page_before_data, results, runs_page_after_data);
}

}  // namespace binade
