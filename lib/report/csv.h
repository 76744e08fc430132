// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a report as a flat table, a row a tensor, for spreadsheets and data frames. It is made from the JSON,
// whose figures stand in it digit by digit.
#pragma once

#include <cstdint>
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

/// `report` is what to_json gave.
TensorTable tensor_table(const nlohmann::ordered_json& report);

/// RFC 4180: a line of names, then a line a tensor, ends of lines CR LF; fields that need it in quotes; null is empty.
std::string report_csv(const nlohmann::ordered_json& report);

}  // namespace binade
