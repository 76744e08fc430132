// SPDX-License-Identifier: Apache-2.0
//
// The time axis of a report as JSON: for each layer and role columns with one entry per step.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/io/spool.h"
#include "lib/report/time.h"

namespace binade {

/// Returns an object {"step", "layer", "role"}.
nlohmann::ordered_json tensor_time_json(const TensorTime& time);

/// Writes the time axis as text, in pieces, so that the JSON of a run of many layers is never in
/// memory as a whole.
void write_time_json(const TimeReport& time, const ReportOptions& options, const TextSink& sink);

}  // namespace binade
