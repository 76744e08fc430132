// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a report: text on the terminal, a page, JSON, a table of its tensors. Of the last two each tensor is
// written when it is known, so a report need not fit into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "lib/cli/options.h"
#include "lib/io/output_paths.h"
#include "lib/report/report.h"

namespace binade {

struct ReportOutputs {
  std::string html, json, csv;
  std::size_t tensors = 20;
  bool quiet = false;
};

void add_report_outputs(App app, ReportOutputs& outputs);
void add_text_options(App app, ReportOutputs& outputs);

/// Error where standard output would get two of them.
void refuse_two_on_stdout(const ReportOutputs& outputs);

void prepare_report_outputs(const ReportOutputs& outputs, std::span<const InputPath> read);

class ReportWriter {
 public:
  ReportWriter(const ReportOutputs& outputs, const ReportOptions& options);
  ~ReportWriter();
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;

  void add(const TensorReport& tensor);
  /// All outputs. `note` follows the text.
  void write(const Report& report, const std::string& note = "");

 private:
  struct Spools;
  const ReportOutputs& outputs_;
  const ReportOptions& options_;
  std::unique_ptr<Spools> spools_;
};

}  // namespace binade
