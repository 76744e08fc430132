// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a report as a flat table with one row per tensor, for spreadsheets and data
// frames. The table is made from the report's JSON and repeats its numbers digit by digit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace binade {

enum class CellKind : std::uint8_t { text, integer, number };

struct TensorColumn {
  /// If the column is numeric and not `step`, the name ends in the unit: _count, _share,
  /// _share_of_values, _share_of_nonzero, _log2, _db, _binades, _magnitude.
  std::string name;
  CellKind kind = CellKind::text;
};

struct TensorTable {
  std::vector<TensorColumn> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;  ///< null where a cell has no value
};

/// Returns the table of a report that is given as JSON.
TensorTable tensor_table(const nlohmann::ordered_json& report);

/// Who reads CSV: a program, which gets texts as they are, or people at a terminal, which must not
/// get their control characters (printable()).
enum class CsvReader : std::uint8_t { program, terminal };

/// Writes the table as CSV (RFC 4180), line by line: first the names of the columns, then one line
/// per tensor. Lines end in CR LF, fields are quoted where needed, and null is an empty field. A
/// text that a spreadsheet would take for a formula, because it begins with = + - @, a tab or CR,
/// has a single quote before it.
class CsvLines {
 public:
  /// `options` are those of the report, as JSON.
  explicit CsvLines(const nlohmann::ordered_json& options, CsvReader reader = CsvReader::program);
  ~CsvLines();
  CsvLines(const CsvLines&) = delete;
  CsvLines& operator=(const CsvLines&) = delete;

  std::string head() const;
  std::string line(const nlohmann::ordered_json& tensor) const;

 private:
  struct Columns;
  std::unique_ptr<const Columns> columns_;
  CsvReader reader_;
};

/// Returns the whole CSV of a report that is given as JSON.
std::string report_csv(const nlohmann::ordered_json& report);

}  // namespace binade
