// SPDX-License-Identifier: Apache-2.0
//
// Makes the options of a report of texts and numbers, as the command line and Python give them.
#pragma once

#include <string>
#include <vector>

#include "lib/report/format_report.h"

namespace binade {

/// The values of the options of `binade report` that have the same names; `scales` is --sqnr-scale,
/// to which 0 is added if it is not there.
struct ReportWords {
  std::vector<std::string> formats, roles;  ///< no formats: all
  std::vector<int> scales{0};
  int headroom = 1;
  double target_loss = 1e-3, target_sqnr = 20, target_weight_sqnr = 30;
  std::string prefer = "margin", dtype;
};

/// The options that the values mean. Throws Error, which names the option, if a value is not one of
/// its own, or if scales times formats are more than max_error_columns.
ReportOptions report_options(const ReportWords& words);

}  // namespace binade
