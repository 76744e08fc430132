// SPDX-License-Identifier: Apache-2.0
//
// Puts the account's JSON into the page that the build assembles from lib/gemm/page.
#include "lib/gemm/account_html.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/page/data_page.h"

namespace binade {

extern const std::string_view gemm_page_before_data;
extern const std::string_view gemm_page_after_data;

std::string account_html(const nlohmann::ordered_json& account) {
  return data_page(gemm_page_before_data, account, gemm_page_after_data);
}

}  // namespace binade
