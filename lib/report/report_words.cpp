// SPDX-License-Identifier: Apache-2.0
//
// Parses the values of a report's options and checks each against the range of its option.
#include "lib/report/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/format/format_spec.h"
#include "lib/range/fate.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

NamedFormat report_format(const std::string& name) {
  const auto* row = std::ranges::find(report_formats, parse_format(name).name, &NamedFormat::name);
  if (row != report_formats.end()) return *row;
  std::vector<std::string_view> names;
  for (const NamedFormat& known : report_formats) names.push_back(known.name);
  throw Error(fmt::format(
      "--formats {}: the report knows {}; for other formats use binade quantize, which counts",
      printable(name), listed(names)));
}

}  // namespace

ReportOptions report_options(const ReportWords& words) {
  ReportOptions options;
  options.headroom = words.headroom;
  options.target_loss = words.target_loss;
  options.target_sqnr = words.target_sqnr;
  options.target_weight_sqnr = words.target_weight_sqnr;
  options.prefer = scale_choice("--prefer", words.prefer);
  options.scales_log2 = words.scales;
  if (std::ranges::find(options.scales_log2, 0) == options.scales_log2.end()) {
    options.scales_log2.insert(options.scales_log2.begin(), 0);
  }
  for (const std::string& rule : words.roles) {
    options.roles.push_back(parse_role_rule("--role", rule));
  }
  if (!words.dtype.empty()) options.dtype = parse_dtype(words.dtype);
  if (!words.formats.empty()) {
    options.formats.clear();
    for (const std::string& name : words.formats) options.formats.push_back(report_format(name));
  }
  check(options, {.target_loss = "--target-loss",
                  .target_sqnr = "--target-sqnr",
                  .target_weight_sqnr = "--target-weight-sqnr",
                  .headroom = "--headroom",
                  .scales = "--sqnr-scale"});
  return options;
}

}  // namespace binade
