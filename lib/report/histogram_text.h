// SPDX-License-Identifier: Apache-2.0
//
// The histogram of the magnitudes of a report's values, as text for a terminal.
#pragma once

#include <string>

#include "lib/report/report.h"
#include "lib/text/paint.h"

namespace binade {

/// Returns a histogram with one column per binade and bars upward, coloured by fate in binary16,
/// with the fates in each format below. The report must have finite values other than zero.
std::string histogram_text(const Report& report, const Paint& paint);

}  // namespace binade
