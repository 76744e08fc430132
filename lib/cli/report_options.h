// SPDX-License-Identifier: Apache-2.0
//
// The options that decide what a report says, from words as the command line and Python give them.
#pragma once

#include <string>
#include <vector>

#include "lib/report/format_report.h"

namespace binade {

struct ReportWords {
  std::vector<std::string> formats, roles;
  std::vector<int> scales{0};
  int headroom = 1;
  double target_loss = 1e-3;
  std::string prefer = "s_max", dtype;
};

/// Error where a word is none of its option's.
ReportOptions report_options(const ReportWords& words);

}  // namespace binade
