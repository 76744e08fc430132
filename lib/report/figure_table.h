// SPDX-License-Identifier: Apache-2.0
//
// The figures of a format as rows of a table, from which the JSON, the CSV, the text's table of
// formats, the schema and the README of this folder are written. A figure that nothing else needs
// is computed in its row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/report/tensor_report.h"

namespace binade {

/// What a figure is, which decides how it is written.
enum class FigureKind : std::uint8_t {
  count,     ///< a count of values with its shares; the text has the share of the non-zero values
  part,      ///< a share of a norm
  binades,   ///< an exponent of two; CSV: NAME_binades
  decibels,  ///< a ratio at each of options.scales_log2; the key ends with _db
  sum,       ///< an exact sum at each of these scales; in the JSON alone
};

/// What figures are computed from. A report of a format is of the summary at scale 1.
struct FigureInput {
  const FormatReport& report;
  const RangeSummary& summary;
  const ReportOptions& options;
};

/// A Share, a part, binades, decibels or sums; the kind of the row says which.
using FigureValue = std::variant<Share, std::optional<double>, std::optional<int>,
                                 std::vector<std::optional<double>>, std::vector<ExactSum>>;

struct FigureRow {
  const char* key;  ///< in the JSON, and with the unit in the CSV
  FigureKind kind;
  const char* title;        ///< of the row in the text's table; null if it has none
  const char* of;           ///< of what it is a share, behind the title; or null
  const char* description;  ///< in the JSON schema, a sentence
  const char* meaning;      ///< in the README, a clause in Markdown
  FigureValue (*value)(const FigureInput& input);
  bool in_csv = true;
  bool of_binary16 = false;  ///< whether other formats lack it
};

/// The table, in the order of the JSON.
std::span<const FigureRow> figure_rows();

/// Whether the format has the figure.
inline bool has_figure(const FigureRow& row, std::string_view format) {
  return !row.of_binary16 || format == "binary16";
}

}  // namespace binade
