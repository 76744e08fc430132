// SPDX-License-Identifier: Apache-2.0
//
// The magnitudes of a report's values for a terminal.
#pragma once

#include <string>

#include "lib/report/report.h"
#include "lib/text/paint.h"

namespace binade {

/// Bars upward, one column per binade, coloured by fate in binary16; below, each format's fates. Of a report with values
/// that are finite and not zero.
std::string histogram_text(const Report& report, const Paint& paint);

}  // namespace binade
