// SPDX-License-Identifier: Apache-2.0
//
// The range report of files, arrays or summaries: as text, JSON, CSV and a page, with its figures.
//
//     const auto report = binade::report_on_files({"gradients.safetensors"});
//     std::cout << report.text << report.loss_scale.reason;
//     report.save("report.html");
#pragma once

#include "lib/public/range.h"
#include "lib/report/written_report.h"
