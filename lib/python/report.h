// SPDX-License-Identifier: Apache-2.0
//
// Reports as Python has them, of whatever is counted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "lib/cli/report_options.h"
#include "lib/python/documents.h"
#include "lib/report/report.h"

namespace binade::python {

/// The keywords of a report, as words. `formats`, `scales`, `role`: one or several, or None.
ReportWords report_words_of(int headroom, double target_loss, std::string_view prefer,
                            nb::handle formats, nb::handle scales, std::string_view dtype,
                            nb::handle role);

/// What read(on_tensor) gives for the inputs, as an object; without the interpreter's lock. `told` follows the text, of
/// which `tensors` are the rows of its table.
ReportObject report_object(
    const std::function<ReportInputs()>& open, std::size_t tensors,
    const std::function<Report(const ReportInputs&, const TensorSink&, std::string& told)>& read);

}  // namespace binade::python
