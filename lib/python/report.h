// SPDX-License-Identifier: Apache-2.0
//
// Makes binade.Report objects, of files, arrays, summaries or watched runs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "lib/python/documents.h"
#include "lib/report/report.h"
#include "lib/report/report_words.h"

namespace binade::python {

/// The options of a report from the keyword arguments of report() and loss_scale(). `formats`,
/// `scales` and `role` are one value, a list, or None.
ReportWords report_words_of(int headroom, double target_loss, double target_sqnr,
                            double target_weight_sqnr, std::string_view prefer, nb::handle formats,
                            nb::handle scales, std::string_view dtype, nb::handle role);

/// A Report of the inputs that `open` opens. `read` counts them, passes each tensor to its sink,
/// and may set `told`, which follows the text. Both are called without the interpreter's lock. The
/// text's table has `tensors` rows, or all if it is 0.
ReportObject report_object(
    const std::function<ReportInputs()>& open, std::size_t tensors,
    const std::function<Report(const ReportInputs&, const TensorSink&, std::string& told)>& read);

}  // namespace binade::python
