// SPDX-License-Identifier: Apache-2.0
//
// The report's JSON inside a page that explains how to read it: one file, no external request.
#pragma once

#include <string>

#include "lib/report/report.h"

namespace binade {

std::string report_html(const Report& report);

}  // namespace binade
