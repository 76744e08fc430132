// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a part of a report, as bytes: the options and the inputs, which are equal in all
// parts of a report.
//
//   options   headroom, bits of target_loss (binary64), prefer (0: s_max, the largest scale of the interval is
//             recommended; 1: s_min, the smallest), formats' names, scales_log2, name of the dtype that raw arrays hold
//             (empty: none), texts of role rules
//   inputs    for each file its path, size, time of modification and stated loss scale, and for
//             each tensor its name, dtype, shape, and whether it is stored in Fortran's order
#pragma once

#include <string>

#include "lib/report/counts_bytes.h"
#include "lib/report/format_report.h"
#include "lib/report/report_builder.h"

namespace binade {

std::string options_bytes(const ReportOptions& options);
ReportOptions options_from(CountsBytesReader from);

std::string inputs_bytes(const TensorFiles& files);
TensorFiles inputs_from(CountsBytesReader from);

}  // namespace binade
