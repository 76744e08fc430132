// SPDX-License-Identifier: Apache-2.0
//
// Checks the options of a report, for the command line and for C++ programs, and lists the columns
// that they need.
#include "lib/report/format_report.h"

#include <algorithm>
#include <string>

#include "lib/text/error.h"

namespace binade {
namespace {

void check_option(const char* name, int value, int lowest, int highest) {
  if (value >= lowest && value <= highest) return;
  throw Error(std::string(name) + " " + std::to_string(value) + ": give an integer from " +
              std::to_string(lowest) + " to " + std::to_string(highest));
}

void check_decibels(const char* name, double value) {
  if (value >= 0 && value <= 300) return;  // not so for NaN
  throw Error(std::string(name) + ": not a ratio in decibels; give a number from 0 to 300");
}

}  // namespace

std::vector<ErrorColumn> error_columns(const ReportOptions& options) {
  std::vector<ErrorColumn> columns;
  for (const int scale : options.scales_log2) {
    for (const NamedFormat& row : options.formats) columns.push_back({row.format, scale});
  }
  return columns;
}

ScaleChoice scale_choice(const char* option, const std::string& name) {
  const auto* const at = std::ranges::find(scale_choice_names, name);
  if (at != scale_choice_names.end())
    return static_cast<ScaleChoice>(at - scale_choice_names.begin());
  throw Error(std::string(option) + " " + printable(name) + ": give margin, s_max or s_min");
}

NamedFormat format_of_scale(const ReportOptions& options) {
  if (options.scale_format) return *options.scale_format;
  return options.formats.empty() ? report_formats[0] : options.formats.front();
}

bool has_own_scales(const Format& format) { return format.bits() <= 8; }

void check(const ReportOptions& options, const ReportOptionNames& names) {
  if (!(options.target_loss >= 0 && options.target_loss < 1)) {  // NaN too
    throw Error(std::string(names.target_loss) + ": not a share; give a number from 0 to below 1");
  }
  check_decibels(names.target_sqnr, options.target_sqnr);
  check_decibels(names.target_weight_sqnr, options.target_weight_sqnr);
  check_option(names.headroom, options.headroom, 0, most_headroom);
  if (options.prefer > ScaleChoice::margin) {
    throw Error("prefer: no such choice; give ScaleChoice::margin, s_max or s_min");
  }
  for (const int scale : options.scales_log2) {
    check_option(names.scales, scale, lowest_scale_log2, highest_scale_log2);
  }
  if (options.formats.empty()) throw Error("formats: none; give rows of report_formats");
  for (const NamedFormat& row : options.formats) {
    const auto* const own = std::ranges::find(report_formats, row.name, &NamedFormat::name);
    if (own != report_formats.end() && own->format == row.format) continue;
    throw Error("formats: '" + printable(row.name) +
                "' is no format of a report under its name; give rows of report_formats");
  }
  if (options.scales_log2.size() * options.formats.size() > max_error_columns) {
    throw Error(std::string(names.scales) + ": " + std::to_string(options.scales_log2.size()) +
                " scales times " + std::to_string(options.formats.size()) +
                " formats are more than " + std::to_string(max_error_columns) + "; ask for fewer");
  }
  check_rules(options.roles);
}

}  // namespace binade
