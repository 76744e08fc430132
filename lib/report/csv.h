// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a report as a flat table, a row a tensor, for spreadsheets and data frames. It is made from the JSON,
// whose figures stand in it digit by digit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace binade {

enum class CellKind : std::uint8_t { text, integer, number };

struct TensorColumn {
  std::string name;  ///< units at its end: _count, _share_of_values, _log2, _db, _binades
  CellKind kind = CellKind::text;
};

struct TensorTable {
  std::vector<TensorColumn> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;  ///< null where there is nothing to tell
};

/// `report`: the JSON of one.
TensorTable tensor_table(const nlohmann::ordered_json& report);

/// The table as RFC 4180 has it, line by line: the columns' names, then a line a tensor; ends of lines CR LF; fields that
/// need it in quotes; null is empty.
class CsvLines {
 public:
  /// `options`: a report's, in JSON.
  explicit CsvLines(const nlohmann::ordered_json& options);
  ~CsvLines();
  CsvLines(const CsvLines&) = delete;
  CsvLines& operator=(const CsvLines&) = delete;

  std::string head() const;
  std::string line(const nlohmann::ordered_json& tensor) const;

 private:
  struct Columns;
  std::unique_ptr<const Columns> columns_;
};

/// All of them, of a report in JSON.
std::string report_csv(const nlohmann::ordered_json& report);

}  // namespace binade
