// SPDX-License-Identifier: Apache-2.0
//
// Puts the results into the page that the build assembled from lib/study/page.
#include "lib/study/results_html.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/page/data_page.h"

namespace binade {

extern const std::string_view study_page_before_data;
extern const std::string_view study_page_after_data;

std::string results_html(const nlohmann::ordered_json& results) {
  return data_page(study_page_before_data, results, study_page_after_data);
}

}  // namespace binade
