// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON: the members of the struct under their names. The schema is
// "binade.range_report/3" (/2 had no roles, /1 had no time either). Some keys are there only in
// some reports: a tensor has "time" if its name says a step; the report has "gradients" if there
// are any (with "passed_over", the steps whose gradients hold NaN or Inf), "time" if there are two
// steps or more, and "watched" for a counted run (run_counts.h); a step's scale has "used" if the
// files state it. "role" is null if nothing says one, and "roles" is empty unless there are
// several. Integers above 2^53 are decimal strings, and sums of squares always are. The sums of
// segments count units of 2^(exponent - 52), sums of squares units of 2^(2·(exponent - 52)).
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/io/spool.h"
#include "lib/report/report.h"

namespace binade {

inline constexpr const char* report_schema = "binade.range_report/3";

nlohmann::ordered_json options_json(const ReportOptions& options);

/// Returns the JSON of a tensor, its step and layer included if it has them.
nlohmann::ordered_json tensor_json(const TensorReport& tensor, const ReportOptions& options);

/// Returns the keys with which the JSON of a report begins: schema, binade (its version), options,
/// files, skipped, formats, segments.
nlohmann::ordered_json report_head_json(const Report& report);
/// Returns what readers should know about the inputs (parts that are missing, names that say no
/// step), or an empty text.
std::string all_hints(const Report& report);

/// Returns JSON as a line of text. Bytes of names that are not UTF-8 are replaced, not refused.
std::string json_line(const nlohmann::ordered_json& value);

/// Collects the "tensors" of a report, one line each. They are made one by one, before "total",
/// which precedes them in the text, is known.
class JsonTensors {
 public:
  explicit JsonTensors(std::string folder = "") : lines_(std::move(folder)) {}
  void add(const nlohmann::ordered_json& tensor);
  void copy_to(const TextSink& sink) const;

 private:
  Spool lines_;
};

/// Writes the report as text, in pieces. Each tensor is one line, so that reports can be compared
/// line by line.
void write_json(const Report& report, const JsonTensors& tensors, const TextSink& sink);

/// Return an integer of any size, and a loss scale, in the form that they have in a report.
nlohmann::ordered_json integer_json(std::uint64_t value);
nlohmann::ordered_json scale_json(const LossScale& scale);
/// Returns the loss scale of a report, with the tensors that set its ends and with its basis.
nlohmann::ordered_json joint_scale_json(const LossScale& scale);

}  // namespace binade
