// SPDX-License-Identifier: Apache-2.0
//
// `binade architectures`: which Tensor Core instructions are emulated, by which model, and how anyone
// knows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/record/instruction_name.h"
#include "lib/tensor/format_spec.h"
#include "lib/tensor/number_text.h"

namespace binade {
namespace {

struct ArchitecturesOptions {
  std::string architecture;
  bool json = false;
};

const std::array<std::string, 9> operand_names{"f16", "bf16", "tf32", "fp8", "f8f6f4",
                                               "f64", "int8", "int4", "b1"};
constexpr std::array<std::string_view, 6> recipe_names{
    "fused_block", "expanded", "fma_chain", "mul_add_chain", "pairwise", "exact_integer"};

std::string_view recipe_of(const DotModel& model) {
  return recipe_names[static_cast<std::size_t>(model.recipe)];
}

std::string_view evidence_of(Evidence evidence) {
  return evidence_names[static_cast<std::size_t>(evidence)];
}

std::string families_text(const Families& families) {
  std::string out;
  for (std::size_t i = 0; i < family_names.size(); ++i) {
    if (!families.contains(static_cast<Family>(i))) continue;
    out += (out.empty() ? "" : ", ") + std::string(family_names[i]);
  }
  return out;
}

/// "sm_90", "sm_80 86 89", "sm_80 … 120"
std::string architectures_text(const ModelRow& row) {
  std::vector<int> sms;
  for (const int sm : architectures) {
    if (sm >= row.first_sm && sm <= row.last_sm) sms.push_back(sm);
  }
  if (sms.size() > 3) return fmt::format("sm_{} … {}", sms.front(), sms.back());
  return fmt::format("sm_{}", fmt::join(sms, " "));
}

/// "to f32, toward zero", "to f32 with 13 fraction bits, toward zero"
std::string rounding_text(const DotModel& model, const Format& d) {
  const std::string grid =
      model.grid == d ? "" : fmt::format(" of {} fraction bits", model.grid.fraction_bits());
  const std::string c = model.c_last ? "; + c" : "";
  if (model.through_f32)
    return fmt::format("f32, {}{}; {}", name_of(model.rounding), c, type_name(d));
  return fmt::format("{}{}, {}{}", type_name(d), grid, name_of(model.rounding), c);
}

/// A line of columns, of which the last may be empty.
template <typename... Columns>
void add_line(std::string& out, fmt::format_string<Columns...> format, Columns&&... columns) {
  out += fmt::format(format, std::forward<Columns>(columns)...);
  out.resize(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string text_of_table() {
  std::string out =
      fmt::format("{:<15}{:<12}{:<8}{:>3}{:>4}{:>7}  {:<37}{:<14}{:<16}{}\n", "on", "families",
                  "a and b", "L", "F", "floor", "rounded to", "evidence", "from", "open");
  for (const ModelRow& row : model_rows) {
    const DotModel& m = row.model;
    const bool integer = m.recipe == Recipe::exact_integer;
    const bool pairs = m.recipe == Recipe::pairwise;
    const bool fused = m.recipe == Recipe::fused_block || m.recipe == Recipe::expanded;
    const std::string numbers =
        fused ? fmt::format("{:>3}{:>4}{:>7}", m.block, m.fraction_bits, m.exponent_floor)
              : fmt::format("{:>14}", integer ? "exact"
                                      : pairs ? "pairs in f32"
                                              : "a chain of fma");
    const std::string rounded = integer ? "s32, wraps or saturates"
                                : pairs ? "f16, ties_to_even"
                                        : rounding_text(m, row.d);
    const std::string k = row.only_k == 0 ? "" : fmt::format(" k{}", row.only_k);
    add_line(out, "{}{:<12}{:<8}{}  {:<37}{:<14}{:<16}{}", left(architectures_text(row), 15),
             families_text(row.families), operand_names[static_cast<std::size_t>(row.operands)] + k,
             numbers, rounded, evidence_of(row.evidence), row.source, row.open);
  }
  return out + R"(
L: products in one fused sum; longer k are chains of them. F: bits kept below the largest exponent, which
is at least the floor. "; + c": sums begin at +0 and c is added at the end. Sums in f32 may become f16 then.
mma.sp and wgmma.sp: the model of mma and wgmma over the half of the products that is kept; open but on sm_90.
hardware: recorded rows are reproduced bit for bit. machine code: ptxas writes known instructions for it.
paper: published models. open: by analogy.
--arch sm_90 lists an architecture's instructions by name.
)";
}

std::string text_of_architecture(int sm) {
  std::string out;
  for (const Instruction& x : instructions_of(sm)) {
    add_line(out, "{:<40}{:<14}{:<16}{}", name_of(x), evidence_of(x.evidence), x.source,
             x.open.empty() ? "" : "open: " + std::string(x.open));
  }
  const bool any_n = sm == 90 || sm == 100 || sm == 103;
  return out + (any_n ? "wgmma and tcgen05 also with every smaller legal n\n" : "");
}

nlohmann::ordered_json json_of(const DotModel& model) {
  return {{"recipe", recipe_of(model)},
          {"block", model.block},
          {"fraction_bits", model.fraction_bits},
          {"exponent_floor", model.exponent_floor},
          {"grid", spec_of(model.grid)},
          {"rounding", name_of(model.rounding)},
          {"c_last", model.c_last},
          {"through_f32", model.through_f32},
          {"sparse_group", model.sparse_group}};
}

nlohmann::ordered_json json_of_table() {
  nlohmann::ordered_json out{{"schema", "binade.architectures/1"},
                             {"models", nlohmann::ordered_json::array()}};
  for (const ModelRow& row : model_rows) {
    nlohmann::ordered_json sms = nlohmann::ordered_json::array();
    for (const int sm : architectures) {
      if (sm >= row.first_sm && sm <= row.last_sm) sms.push_back(fmt::format("sm_{}", sm));
    }
    nlohmann::ordered_json families = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < family_names.size(); ++i) {
      if (row.families.contains(static_cast<Family>(i))) families.push_back(family_names[i]);
    }
    out["models"].push_back({{"architectures", sms},
                             {"families", families},
                             {"operands", operand_names[static_cast<std::size_t>(row.operands)]},
                             {"d", type_name(row.d)},
                             {"only_k", row.only_k},
                             {"only_unlike_c", row.unlike_c},
                             {"model", json_of(row.model)},
                             {"evidence", evidence_of(row.evidence)},
                             {"source", row.source},
                             {"open", row.open}});
  }
  return out;
}

nlohmann::ordered_json json_of_architecture(int sm) {
  nlohmann::ordered_json out{{"schema", "binade.architecture/1"},
                             {"architecture", fmt::format("sm_{}", sm)},
                             {"instructions", nlohmann::ordered_json::array()}};
  for (const Instruction& x : instructions_of(sm)) {
    out["instructions"].push_back({{"name", name_of(x)},
                                   {"model", json_of(x.model)},
                                   {"evidence", evidence_of(x.evidence)},
                                   {"source", x.source},
                                   {"open", x.open}});
  }
  return out;
}

void show_architectures(const ArchitecturesOptions& options) {
  const bool all = options.architecture.empty();
  const int sm = all ? 0 : parse_architecture(options.architecture);
  if (options.json) {
    fmt::print("{}\n", (all ? json_of_table() : json_of_architecture(sm)).dump(2));
  } else {
    fmt::print("{}", all ? text_of_table() : text_of_architecture(sm));
  }
}

void define_architectures(App app, int&) {
  const auto options = std::make_shared<ArchitecturesOptions>();
  app.add_option("--arch", options->architecture, "list the instructions of one: sm_70 … sm_120");
  app.add_flag("--json", options->json, "as JSON");
  app.callback([options] { show_architectures(*options); });
}

}  // namespace

const Command architectures_command{
    "architectures", "the Tensor Core instructions that are emulated, and the evidence",
    &define_architectures};

}  // namespace binade
