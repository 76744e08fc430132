// SPDX-License-Identifier: Apache-2.0
//
// Prints the program's tables as one JSON object: name of the table, list of its names in its order, or of its rows as objects.
// What structure/write_tables.py puts into files comes from here, and what tests in Python loop over.
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulate/attributes.h"
#include "emulate/codec.h"
#include "emulate/format.h"
#include "lib/amp/loss_scaler.h"
#include "lib/cli/command.h"
#include "lib/io/file_format.h"
#include "lib/report/figure_table.h"
#include "lib/study/workloads.h"
#include "lib/train/memory.h"
#include "lib/train/optimizers.h"

namespace {

const char* between = "{";

/// Prints a table: the members `name` of those of its rows that `chosen` chooses. They need no escapes.
template <class Rows, class Chosen>
void print(const char* table, const Rows& rows, const Chosen& chosen) {
  std::printf("%s\"%s\": [", between, table);
  between = ",\n ";
  const char* comma = "";
  for (const auto& row : rows) {
    if (!chosen(row)) continue;
    std::printf("%s\"%s\"", comma, std::string(row.name).c_str());
    comma = ", ";
  }
  std::fputs("]", stdout);
}
template <class Rows>
void print(const char* table, const Rows& rows) {
  print(table, rows, [](const auto&) { return true; });
}

/// Prints a table whose rows are objects.
void print_rows(const char* table, const nlohmann::ordered_json& rows) {
  std::printf("%s\"%s\": ", between, table);
  between = ",\n ";
  std::fputs(rows.dump().c_str(), stdout);
}

/// Returns what the JSON schema says of a figure.
nlohmann::ordered_json schema_of(const binade::FigureRow& row) {
  using binade::FigureKind;
  const auto of_scales = [](const char* what) -> nlohmann::ordered_json {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^-?[0-9]+$"}}},
            {"additionalProperties", {{"$ref", what}}}};
  };
  nlohmann::ordered_json out{{"description", row.description}};
  switch (row.kind) {
    case FigureKind::count: out["$ref"] = "#/$defs/counted_share"; break;
    case FigureKind::part: out["$ref"] = "#/$defs/share_or_null"; break;
    case FigureKind::binades: out["$ref"] = "#/$defs/integer_or_null"; break;
    case FigureKind::decibels: out.update(of_scales("#/$defs/number_or_null")); break;
    case FigureKind::sum: out.update(of_scales("#/$defs/exact_sum")); break;
  }
  return out;
}

/// Any text in the place of a name.
struct TextRow {
  std::string name;
};

}  // namespace

int main() {
  using namespace binade;
  print("formats", formats);
  print("roundings", roundings);
  const auto changes = [](const LossScalePolicy& x) { return x.growth_rule != GrowthRule::never; };
  const auto is_other = [&](const LossScalePolicy& x) { return changes(x) && x.name != "torch"; };
  print("loss_scalers", loss_scale_policies());
  print("changing_scalers", loss_scale_policies(), changes);
  print("other_scalers", loss_scale_policies(), is_other);
  print("optimizers", optimizers());
  print("optimizer_moments", optimizer_moments());
  print("workloads", workload_rows());
  std::uint64_t midpoints = 0;  // as experiments/boundary_atlas.cpp tries them
  for (const NamedFormat& row : formats) {
    if (row.format.bits() > 16 || !row.format.has_zero) continue;
    midpoints += max_bits(row.format, false) >> row.format.padding_bits;
  }
  print("midpoints", std::array{TextRow{std::to_string(midpoints)}});
  nlohmann::ordered_json of_commands;
  for (const Command* command : commands) {
    of_commands.push_back({{"command", "`binade " + std::string(command->name) + "`"},
                           {"what it does", command->summary},
                           {"tour", command->tour}});
  }
  print_rows("commands", of_commands);
  nlohmann::ordered_json of_figures, of_schema;
  for (const FigureRow& row : figure_rows()) {
    of_figures.push_back({{"row or column", row.title != nullptr ? row.title : row.key},
                          {"what it says", row.meaning}});
    of_schema.push_back(
        {{"name", row.key}, {"required", !row.of_binary16}, {"schema", schema_of(row)}});
  }
  print_rows("format_figures", of_figures);
  print_rows("figure_schemas", of_schema);
  std::vector<TextRow> of_files;
  for (const FileFormat* format : file_formats()) of_files.push_back({std::string(format->files)});
  print("file_formats", of_files);
  std::puts("}");
}
