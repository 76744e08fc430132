// SPDX-License-Identifier: Apache-2.0
//
// The table of columns: for each a name, a kind, and where its value is in a tensor's JSON. Those
// of a format follow from figure_table.h.
#include "lib/report/csv.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "lib/report/figure_table.h"
#include "lib/text/error.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

/// A column, and the keys that lead to its value in a tensor's JSON.
struct SourcedColumn {
  TensorColumn column;
  std::vector<std::string> keys;
};

std::vector<SourcedColumn> columns_of_format(const std::string& f, const Json& scales) {
  constexpr auto integer = CellKind::integer;
  constexpr auto number = CellKind::number;
  std::vector<SourcedColumn> out;
  const auto add = [&](const std::string& name, CellKind kind, std::vector<std::string> keys) {
    keys.insert(keys.begin(), {"formats", f});
    out.push_back({{f + "_" + name, kind}, std::move(keys)});
  };
  for (const FigureRow& row : figure_rows()) {
    if (!row.in_csv || !has_figure(row, f)) continue;
    const std::string key = row.key;
    switch (row.kind) {
      case FigureKind::count:
        add(key + "_count", integer, {key, "count"});
        add(key + "_share_of_values", number, {key, "of_values"});
        add(key + "_share_of_nonzero", number, {key, "of_nonzero"});
        break;
      case FigureKind::part: add(key + "_share", number, {key}); break;
      case FigureKind::binades: add(key + "_binades", integer, {key}); break;
      case FigureKind::decibels:
        for (const Json& scale : scales) {
          const std::string at = scale.dump(), stem = key.substr(0, key.size() - 3);
          add(at == "0" ? key : stem + "_at_scale_log2_" + at + "_db", number, {key, at});
        }
        break;
      case FigureKind::sum: break;
    }
  }
  return out;
}

/// A column that does not depend on the report's options. Its value is under `key`, or under
/// `inner` of what is there.
struct FixedColumn {
  const char* name;
  CellKind kind;
  const char* key;
  const char* inner = nullptr;
};

constexpr std::array<FixedColumn, 25> fixed_columns{{
    {"name", CellKind::text, "name"},
    {"file", CellKind::text, "file"},
    {"role", CellKind::text, "role"},
    {"step", CellKind::integer, "time", "step"},
    {"layer", CellKind::text, "time", "layer"},
    {"dtype", CellKind::text, "dtype"},
    {"shape", CellKind::text, "shape"},
    {"status", CellKind::text, "status"},
    {"values_count", CellKind::integer, "values"},
    {"zeros_count", CellKind::integer, "zeros"},
    {"nan_count", CellKind::integer, "nan"},
    {"inf_count", CellKind::integer, "inf"},
    {"negative_count", CellKind::integer, "negative"},
    {"nonzero_count", CellKind::integer, "nonzero"},
    {"min_magnitude", CellKind::number, "min"},
    {"max_magnitude", CellKind::number, "max"},
    {"loss_scale_format", CellKind::text, "loss_scale", "format"},
    {"loss_scale_status", CellKind::text, "loss_scale", "status"},
    {"loss_scale_min_log2", CellKind::integer, "loss_scale", "s_min_log2"},
    {"loss_scale_max_log2", CellKind::integer, "loss_scale", "s_max_log2"},
    {"loss_scale_recommended_log2", CellKind::integer, "loss_scale", "recommended_log2"},
    {"loss_scale_lost_l2_share", CellKind::number, "loss_scale", "lost_l2_at_recommended"},
    {"advice_format", CellKind::text, "advice", "format"},
    {"advice_min_log2", CellKind::integer, "advice", "s_min_log2"},
    {"advice_max_log2", CellKind::integer, "advice", "s_max_log2"},
}};

std::vector<SourcedColumn> table_columns(const Json& options) {
  std::vector<SourcedColumn> out;
  for (const FixedColumn& fixed : fixed_columns) {
    SourcedColumn& one = out.emplace_back(SourcedColumn{{fixed.name, fixed.kind}, {}});
    for (const char* key : {fixed.key, fixed.inner}) {
      if (key != nullptr) one.keys.emplace_back(key);
    }
  }
  for (const Json& f : options.at("formats")) {
    for (SourcedColumn& one : columns_of_format(f.get<std::string>(), options.at("scales_log2"))) {
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// Returns a shape as "64x128"; "" for a scalar.
std::string shape_cell(const Json& shape) {
  std::string out;
  for (const Json& n : shape) out += (out.empty() ? "" : "x") + n.dump();
  return out;
}

Json table_cell(const Json& tensor, const std::vector<std::string>& keys) {
  const Json* at = &tensor;
  for (const std::string& key : keys) {
    const auto next = at->find(key);
    if (next == at->end()) return nullptr;
    at = &*next;
  }
  if (at->is_array()) return shape_cell(*at);
  if (!at->is_string()) return *at;
  // Names come from files: bytes that are not UTF-8 are replaced, as in the JSON's text.
  return Json::parse(at->dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Returns a field in quotes if it holds what separates fields, in some countries a semicolon, or
/// lines.
std::string quoted_field(const std::string& field) {
  if (field.find_first_of(",;\t\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// Returns whether a spreadsheet may take the text for a formula: after spaces and control
/// characters, which some drop, it begins with one of = + - @, also as wide as a Chinese character;
/// or it begins with a control character (OWASP, "CSV Injection").
bool is_formula(std::string_view text) {
  constexpr std::array<std::string_view, 8> beginnings = {"=",      "+",      "-",      "@",
                                                          "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
  if (!text.empty() && static_cast<unsigned char>(text[0]) < 0x20) return true;
  constexpr std::string_view wide_space = "\u00A0";
  while (text.starts_with(' ') || text.starts_with(wide_space)) {
    text.remove_prefix(text[0] == ' ' ? 1 : wide_space.size());
  }
  return std::ranges::any_of(beginnings, [&](std::string_view x) { return text.starts_with(x); });
}

std::string csv_field(const Json& cell, CsvReader reader) {
  if (cell.is_null()) return "";
  if (!cell.is_string()) return cell.dump();
  const auto& text = cell.get_ref<const std::string&>();
  const std::string harmless = (is_formula(text) ? "'" : "") + text;
  return quoted_field(reader == CsvReader::terminal ? printable(harmless, std::string::npos)
                                                    : harmless);
}

/// Returns the fields with commas between them and CR LF at the end.
template <class ToText>
std::string csv_line(const std::vector<SourcedColumn>& columns, const ToText& to_text) {
  std::string out;
  bool first = true;
  for (const SourcedColumn& one : columns) {
    if (!std::exchange(first, false)) out += ',';
    out += to_text(one);
  }
  return out + "\r\n";
}

}  // namespace

TensorTable tensor_table(const Json& report) {
  TensorTable out;
  const std::vector<SourcedColumn> columns = table_columns(report.at("options"));
  for (const SourcedColumn& one : columns) out.columns.push_back(one.column);
  for (const Json& tensor : report.at("tensors")) {
    std::vector<Json>& row = out.rows.emplace_back();
    for (const SourcedColumn& one : columns) row.push_back(table_cell(tensor, one.keys));
  }
  return out;
}

struct CsvLines::Columns {
  std::vector<SourcedColumn> all;
};

CsvLines::CsvLines(const Json& options, CsvReader reader)
    : columns_(std::make_unique<const Columns>(Columns{table_columns(options)})), reader_(reader) {}
CsvLines::~CsvLines() = default;

std::string CsvLines::head() const {
  return csv_line(columns_->all,
                  [](const SourcedColumn& one) { return quoted_field(one.column.name); });
}

std::string CsvLines::line(const Json& tensor) const {
  return csv_line(columns_->all, [&](const SourcedColumn& one) {
    return csv_field(table_cell(tensor, one.keys), reader_);
  });
}

std::string report_csv(const Json& report) {
  const CsvLines lines(report.at("options"));
  std::string out = lines.head();
  for (const Json& tensor : report.at("tensors")) out += lines.line(tensor);
  return out;
}

}  // namespace binade
