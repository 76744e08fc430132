// SPDX-License-Identifier: Apache-2.0
//
// Puts the results into the page that the build assembled from lib/study/page.
#include "lib/study/results_html.h"

#include <string_view>

#include "lib/tensor/data_page.h"

namespace binade {

extern const std::string_view results_page_before_data;
extern const std::string_view results_page_after_data;

std::string results_html(const nlohmann::ordered_json& results) {
  return data_page(results_page_before_data, results, results_page_after_data);
}

}  // namespace binade
