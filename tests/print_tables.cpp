// SPDX-License-Identifier: Apache-2.0
//
// Prints the program's tables as one JSON object: name of the table, list of its names in its
// order, or of its rows as objects. What structure/write_tables.py puts into files comes from here,
// and what tests in Python loop over.
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulate/architectures.h"
#include "emulate/attributes.h"
#include "emulate/codec.h"
#include "emulate/fast/kernels.h"
#include "emulate/format.h"
#include "emulate/gemm_model.h"
#include "lib/amp/loss_scaler.h"
#include "lib/block/checkpoint_layout.h"
#include "lib/block/scale_layout.h"
#include "lib/cli/command.h"
#include "lib/io/file_format.h"
#include "lib/report/figure_table.h"
#include "lib/runs/experiment.h"
#include "lib/runs/workloads.h"
#include "lib/train/memory.h"
#include "lib/train/optimizers.h"

namespace {

using Json = nlohmann::ordered_json;

/// Returns the members `name` of those of a table's rows that `chosen` chooses.
template <class Rows, class Chosen>
Json names(const Rows& rows, const Chosen& chosen) {
  Json out = Json::array();
  for (const auto& row : rows) {
    if (chosen(row)) out.push_back(std::string(row.name));
  }
  return out;
}
template <class Rows>
Json names(const Rows& rows) {
  return names(rows, [](const auto&) { return true; });
}

/// Returns what the JSON schema says of a figure.
Json schema_of(const binade::FigureRow& row) {
  using binade::FigureKind;
  const auto of_scales = [](const char* what) -> Json {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^-?[0-9]+$"}}},
            {"additionalProperties", {{"$ref", what}}}};
  };
  Json out{{"description", row.description}};
  switch (row.kind) {
    case FigureKind::count: out["$ref"] = "#/$defs/counted_share"; break;
    case FigureKind::part: out["$ref"] = "#/$defs/share_or_null"; break;
    case FigureKind::binades: out["$ref"] = "#/$defs/integer_or_null"; break;
    case FigureKind::decibels: out.update(of_scales("#/$defs/number_or_null")); break;
    case FigureKind::sum: out.update(of_scales("#/$defs/exact_sum")); break;
  }
  return out;
}

/// The commands, as README.md shows them.
Json commands_table() {
  Json out;
  for (const binade::Command* command : binade::commands) {
    out.push_back({{"command", "`binade " + std::string(command->name) + "`"},
                   {"what it does", command->summary},
                   {"tour", command->tour}});
  }
  return out;
}

/// The layouts of checkpoints, as emulate/README.md shows them, by the parts of a tensor.
Json checkpoint_layouts_table() {
  const auto part = [](std::string_view pattern) {
    return pattern.empty() ? "" : "`" + binade::part_name(pattern, "fc.weight") + "`";
  };
  const auto held = [](binade::TensorScalePart x) {
    return x == binade::TensorScalePart::decode   ? ""
           : x == binade::TensorScalePart::encode ? ", its reciprocal"
                                                  : ", the tensor's amax";
  };
  Json out = Json::array();
  for (const binade::CheckpointLayout& x : binade::checkpoint_layouts) {
    const std::string tensor = part(x.tensor);
    out.push_back({{"`--layout`", "`" + std::string(x.name) + "`"},
                   {"codes", part(x.elements)},
                   {"scales", part(x.scales)},
                   {"scale of the tensor", tensor.empty() ? tensor : tensor + held(x.part)},
                   {"formats", x.formats.empty() ? "all" : std::string(x.formats)}});
  }
  return out;
}

/// The activations, as lib/gemm/README.md shows them.
Json activations_table() {
  Json out;
  for (const binade::ActivationRow& x : binade::activations) {
    if (x.activation == binade::Activation::none) continue;
    out.push_back({{"said as", "`--activation " + std::string(x.name) + "`"},
                   {"what is computed", x.formula},
                   {"by", x.source}});
  }
  return out;
}

/// The experiments, as experiments/README.md shows them.
Json experiments_table() {
  Json out;
  for (const binade::Experiment& x : binade::experiments()) {
    out.push_back({{"question", x.question},
                   {"command", "`binade experiment run " + std::string(x.name) + "`"},
                   {"measured", x.answer}});
  }
  return out;
}

/// How many midpoints between neighbouring positive numbers of formats
/// experiments/boundary_atlas.cpp tries.
std::uint64_t midpoints() {
  std::uint64_t out = 0;
  for (const binade::NamedFormat& row : binade::formats) {
    if (row.format.bits() > 16 || !row.format.has_zero) continue;
    out += binade::max_bits(row.format, false) >> row.format.padding_bits;
  }
  return out;
}

}  // namespace

int main() {
  using namespace binade;
  const auto changes = [](const LossScalePolicy& x) { return x.growth_rule != GrowthRule::never; };
  const auto is_other = [&](const LossScalePolicy& x) { return changes(x) && x.name != "torch"; };
  Json figures, schemas, files, targets;
  for (const Architecture& on : architectures) targets.push_back("sm_" + std::to_string(on.sm));
  for (const FigureRow& row : figure_rows()) {
    figures.push_back({{"row or column", row.title != nullptr ? row.title : row.key},
                       {"what it says", row.meaning}});
    schemas.push_back(
        {{"name", row.key}, {"required", !row.of_binary16}, {"schema", schema_of(row)}});
  }
  for (const FileFormat* format : file_formats()) files.push_back(std::string(format->files));
  const Json tables{{"formats", names(formats)},
                    {"roundings", names(roundings)},
                    {"levels", names(levels)},
                    {"architectures", targets},
                    {"activations", activations_table()},
                    {"checkpoint_layouts", checkpoint_layouts_table()},
                    {"scale_layouts", names(scale_layouts)},
                    {"loss_scalers", names(loss_scale_policies())},
                    {"changing_scalers", names(loss_scale_policies(), changes)},
                    {"other_scalers", names(loss_scale_policies(), is_other)},
                    {"optimizers", names(optimizers())},
                    {"optimizer_moments", names(optimizer_moments())},
                    {"workloads", names(workload_rows())},
                    {"midpoints", Json::array({std::to_string(midpoints())})},
                    {"commands", commands_table()},
                    {"experiments", experiments_table()},
                    {"format_figures", figures},
                    {"figure_schemas", schemas},
                    {"file_formats", files}};
  std::puts(tables.dump(1).c_str());
}
