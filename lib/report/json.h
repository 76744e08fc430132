// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON: the struct, name by name. Schema "binade.range_report/3". Tensors have a "role" where
// their name tells one and a "time" where it tells a step; "roles" are there where there are several,
// "gradients" where there are any ("passed_over": steps whose gradients hold NaN or Inf), a "time" of the report
// where there are two steps or more, "watched" where a run was counted while it ran; a step's scale has a "used" where the
// files say it. /2 had no roles, /1 no time
// either. Integers above 2^53 are decimal strings; the segments' sums count units of 2^(exponent - 52).
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/io/spool.h"
#include "lib/report/report.h"

namespace binade {

inline constexpr const char* report_schema = "binade.range_report/3";

nlohmann::ordered_json options_json(const ReportOptions& options);

/// A tensor of the report, its time included.
nlohmann::ordered_json tensor_json(const TensorReport& tensor, const ReportOptions& options);

/// What stands before the tensors: options, files, formats.
nlohmann::ordered_json report_head_json(const Report& report);
/// What a reader should know of a report's inputs: parts that are missing, names that tell no time; or empty.
std::string all_hints(const Report& report);

/// As text: what is not UTF-8 in the names of files and tensors is replaced, not refused.
std::string json_line(const nlohmann::ordered_json& value);

/// The "tensors" of a report, which come before all the rest is known: a line each.
class JsonTensors {
 public:
  explicit JsonTensors(std::string folder = "") : lines_(std::move(folder)) {}
  void add(const nlohmann::ordered_json& tensor);
  void copy_to(const TextSink& sink) const;

 private:
  Spool lines_;
};

/// The report as text, in pieces: one line per tensor, so that reports can be compared line by line.
void write_json(const Report& report, const JsonTensors& tensors, const TextSink& sink);

/// An integer of any size, and a loss scale, as they stand in a report.
nlohmann::ordered_json integer_json(std::uint64_t value);
nlohmann::ordered_json scale_json(const LossScale& scale);
/// A report's: with who sets its ends, and what it was taken from.
nlohmann::ordered_json joint_scale_json(const LossScale& scale);

}  // namespace binade
