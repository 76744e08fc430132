// SPDX-License-Identifier: Apache-2.0
//
// The time axis of a report as JSON: a row of columns per layer and role, one entry per step.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/io/spool.h"
#include "lib/report/time.h"

namespace binade {

/// {"step", "layer", "role"}
nlohmann::ordered_json tensor_time_json(const TensorTime& time);

/// As text, in pieces: a run of many layers is no tree in memory.
void write_time_json(const TimeReport& time, const ReportOptions& options, const TextSink& sink);

}  // namespace binade
