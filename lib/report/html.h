// SPDX-License-Identifier: Apache-2.0
//
// The report as one HTML page that explains how to read its data and requests nothing from the
// network.
#pragma once

#include <string>
#include <string_view>

namespace binade {

/// Returns the page for the data that page_data() gave.
std::string report_html(std::string_view page_data);

}  // namespace binade
