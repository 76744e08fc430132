// SPDX-License-Identifier: Apache-2.0
//
// Writes a report: as text on standard output (unless JSON or CSV goes there), as a page, as JSON,
// and as a CSV table of its tensors. JSON and CSV take each tensor as soon as it is counted, so a
// report need not fit into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "lib/cli/parser.h"
#include "lib/io/output_paths.h"
#include "lib/report/report.h"

namespace binade {

struct ReportOutputs {
  std::string html, json, csv;  ///< files; empty: not wanted; "-": standard output (json and csv)
  std::size_t tensors = 20;     ///< rows of the text's table of tensors; 0: all
  bool quiet = false;
};

/// Declares --html, --json and --csv. `outputs` must live as long as the command.
void add_report_outputs(App app, ReportOutputs& outputs);
/// Declares --tensors and --quiet. `outputs` must live as long as the command.
void add_text_options(App app, ReportOutputs& outputs);

/// Throws Error if both JSON and CSV would go to standard output, or if --quiet or --tensors was
/// given where no text goes there anyway.
void check_stdout(const ReportOutputs& outputs);

/// Throws Error if an output cannot be written, or is one of the files `read`.
void prepare_report_outputs(const ReportOutputs& outputs, std::span<const InputPath> read);

/// Writes one report. `outputs` and `options` must outlive it.
class ReportWriter {
 public:
  ReportWriter(const ReportOutputs& outputs, const ReportOptions& options);
  ~ReportWriter();
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;

  /// Returns what takes each tensor of the report, in the report's order; an empty function if no
  /// output needs them.
  TensorSink sink();
  /// Writes all outputs, after the sink took every tensor. `note` is printed after the text.
  void write(const Report& report, const std::string& note = "");

 private:
  struct Spools;
  void add(const TensorReport& tensor);

  const ReportOutputs& outputs_;
  const ReportOptions& options_;
  std::unique_ptr<Spools> spools_;
};

}  // namespace binade
