// SPDX-License-Identifier: Apache-2.0
//
// A report's data inside a page that explains how to read them: one file, no external request.
#pragma once

#include <string>
#include <string_view>

namespace binade {

/// The page of what `page_data` gave.
std::string report_html(std::string_view page_data);

}  // namespace binade
