// SPDX-License-Identifier: Apache-2.0
//
// Makes a WrittenReport of any inputs, for callers that count tensors in their own way.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "lib/report/report.h"
#include "lib/report/written_report.h"

namespace binade {

/// A function that counts the inputs and passes each tensor to the sink, as read_report() does.
using ReadReport = std::function<Report(const ReportInputs&, const TensorSink&)>;

/// Reads and writes a report. The text's table of tensors has at most `rows` rows, or all if it is
/// 0.
WrittenReport write_report(const ReportInputs& inputs, std::size_t rows, const ReadReport& read);

/// WrittenReport::save for a caller that kept the JSON and the page's data.
void save_report(const std::string& json, std::string_view page_data, const std::string& path);

}  // namespace binade
