// SPDX-License-Identifier: Apache-2.0
//
// A report as a value: of files, of arrays in memory or of summaries, with all that `binade report`
// writes of it.
//
//     const auto report = binade::report_on_arrays({binade::named_array("fc1.weight.grad", gradients)});
//     std::cout << report.text;
//     report.save("report.html");
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/io/array_view.h"
#include "lib/report/tensor_report.h"

namespace binade {

struct WrittenReport {
  TensorReport total;  ///< all tensors together
  /// Each tensor, in the order of the files; if names tell steps of a training, those that have
  /// none.
  std::vector<TensorReport> tensors;
  LossScale loss_scale;   ///< one for all tensors, or for the gradients if names say which they are
  std::string text;       ///< what `binade report` prints, without colours
  std::string json;       ///< every figure; lib/json.schema.json describes the keys
  std::string page_data;  ///< the data of the page

  std::string html() const;  ///< a page that needs no other file
  std::string csv() const;   ///< a row of figures for each tensor
  /// Writes .html, .json or .csv, as the ending of the path says. Throws Error for another ending,
  /// or if the file cannot be written.
  void save(const std::string& path) const;
};

/// Report on the floating-point tensors of files (.safetensors, .npy, .npz, .pt, … or globs of
/// them), on arrays that must live until the function returns, or on what was counted before. The
/// text's table of tensors has at most `rows` rows, or all if it is 0. They throw Error if a file
/// or an option is bad, or if there is nothing to report on.
WrittenReport report_on_files(const std::vector<std::string>& files,
                              const ReportOptions& options = {}, std::size_t rows = 20);
WrittenReport report_on_arrays(std::vector<NamedArray> arrays, const ReportOptions& options = {},
                               std::size_t rows = 20);
/// The summaries must have the columns error_columns(options) (format_report.h), or none if
/// options.scales_log2 is {0}.
WrittenReport report_on_summaries(std::vector<NamedSummary> summaries,
                                  const ReportOptions& options = {}, std::size_t rows = 20);

}  // namespace binade
