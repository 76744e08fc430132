// SPDX-License-Identifier: Apache-2.0
//
// Reports made in memory from a few values, without a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/range/counter.h"
#include "lib/report/report.h"
#include "tests/lib/io/files.h"

namespace binade::test {

struct Named {
  std::string name;
  std::vector<float> values;
};

inline std::vector<ErrorColumn> columns_of(const ReportOptions& options) {
  std::vector<ErrorColumn> columns;
  for (const int scale : options.scales_log2) {
    for (const NamedFormat& row : options.formats) columns.push_back({row.format, scale});
  }
  return columns;
}

/// Returns a report on summaries, which have the columns of the options.
inline Report report_of_summaries(const std::vector<std::pair<std::string, RangeSummary>>& tensors,
                                  const ReportOptions& options = {}) {
  Report report;
  report.options = options;
  report.files = {"made.safetensors"};
  report.total.name = "total";
  report.total.summary = empty_summary(columns_of(options));
  JointScale joint(report.total.summary.columns);
  for (const auto& [name, summary] : tensors) {
    TensorReport tensor;
    tensor.name = name;
    tensor.file = "made.safetensors";
    tensor.dtype = "F32";
    tensor.shape = {summary.values};
    tensor.summary = summary;
    analyse(tensor, options);
    merge(report.total.summary, tensor.summary);
    joint.add(tensor, report.tensors.size());
    report.rows.push_back(row_of(tensor, 0, options));
    report.tensors.push_back(std::move(tensor));
  }
  analyse(report.total, options);
  report.scaled_tensors = report.rows.size();
  report.loss_scale = joint.scale(options, [](const JointScale::End&) { return false; });
  return report;
}

inline Report report_of(const std::vector<Named>& tensors, const ReportOptions& options = {}) {
  std::vector<std::pair<std::string, RangeSummary>> summaries;
  RangeCounter counter(columns_of(options));
  for (const Named& tensor : tensors) {
    counter.add(std::as_bytes(std::span(tensor.values)), *find_dtype("F32"));
    summaries.emplace_back(tensor.name, counter.finish());
  }
  return report_of_summaries(summaries, options);
}

/// Returns names of tensors that contain markup, control characters and the like, which writers
/// must escape.
inline std::vector<std::string> hostile_names() {
  return {"a\nb",
          "\x1b[2J\x1b]0;title\x07",
          "</script><script>alert(1)</script>",
          "<!--<script>",
          "<img src=http://example.org/x onerror=alert(1)>",
          "\xff\xfe\xc3(",
          std::string("\xc2\x9b") + "2J",
          std::string(10000, 'x'),
          "\"},{\"",
          "{} {0} %s \\",
          "",
          std::string("nul\0inside", 10),
          "\xe2\x80\xa8line\xe2\x80\xa9paragraph",
          "größe 大きさ"};
}

/// Returns whether all bytes form UTF-8: sequences have the right shape, and no two-byte one is
/// overlong.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int more = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return false;
    for (int k = 0; k < more; ++k, ++i) {
      if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace binade::test
