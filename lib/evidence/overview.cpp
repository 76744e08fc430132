// SPDX-License-Identifier: Apache-2.0
//
// Groups, and their lines of text.
#include "lib/evidence/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/evidence/seen.h"
#include "lib/record/instruction_name.h"
#include "lib/tensor/number_text.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 9> operand_names{"f16", "bf16", "tf32", "fp8", "f8f6f4",
                                                        "f64", "int8", "int4", "b1"};
constexpr std::array<std::string_view, 4> letters{"H", "M", "P", "?"};

/// Types of 16 bits and more stand alone; FP8 and narrower ones, and integers of a width, are taken together.
int kind_of_operands(const Format& f) {
  const bool wide = !is_integer(f) && f.storage_bits() >= 16;
  return wide ? f.exponent_bits * 64 + f.precision : is_integer(f) ? -f.bits() : 0;
}

bool share_group(const InstructionGroup& group, const Instruction& x, const Knowledge& known) {
  const Instruction& y = group.instructions.front();
  bool same_known = true;
  for (std::size_t i = 0; i < aspect_count; ++i) {
    const KnownAspect& one = group.known[i];
    const KnownAspect& other = known[i];
    const bool same = one.evidence == other.evidence && one.source == other.source;
    same_known = same_known && (same || !one.matters || !other.matters);
  }
  return same_known && y.model == x.model && y.types.c == x.types.c && y.types.d == x.types.d &&
         kind_of_operands(y.types.a) == kind_of_operands(x.types.a) &&
         share_machine_code(y.family, x.family);
}

/// Takes an instruction in. Where an aspect matters to some of a group, the group says what is known of those.
void take(InstructionGroup& group, const Instruction& x, const Knowledge& known) {
  group.instructions.push_back(x);
  for (std::size_t i = 0; i < aspect_count; ++i) {
    KnownAspect& out = group.known[i];
    if (!known[i].matters) continue;
    if (!out.matters) {
      out = known[i];
      continue;
    }
    for (const std::string& name : known[i].left) {
      if (std::ranges::find(out.left, name) == out.left.end()) out.left.push_back(name);
    }
    std::erase_if(out.excluded, [&](const std::string& name) {
      return std::ranges::find(out.left, name) != out.left.end();
    });
    out.rows = std::min(out.rows, known[i].rows);
  }
}

/// The smallest set of operands that holds all of a group.
std::string_view operands_text(const InstructionGroup& group) {
  for (std::size_t i = 0; i < operand_names.size(); ++i) {
    const auto fits = [&](const Instruction& x) {
      const auto set = static_cast<OperandSet>(i);
      return contains(set, x.types.a) && contains(set, x.types.b);
    };
    if (std::ranges::all_of(group.instructions, fits)) return operand_names[i];
  }
  return "?";
}

std::string cell_text(const KnownAspect& cell) {
  if (!cell.matters) return "no operands can touch it\n";
  std::string out = fmt::format("{:<13} {}", name_of(cell.evidence), cell.source);
  if (cell.rows != 0) {
    out += fmt::format(": {} rows exclude {}", cell.rows, fmt::join(cell.excluded, ", "));
  }
  if (!cell.left.empty()) {
    out += fmt::format("\n{:<21}{:<13} {}", "", "not excluded", fmt::join(cell.left, ", "));
  }
  return out + "\n";
}

std::string rows_text(const InstructionGroup& group) {
  std::set<std::size_t> sets;
  for (const Instruction& x : group.instructions) {
    for (const std::size_t at : sets_for(x)) sets.insert(at);
  }
  std::string out;
  SeenSet all;
  std::set<std::string> gpus;
  for (const std::size_t at : sets) {
    const SeenSet& set = recorded_sets()[at];
    all.rows += set.rows;
    all.operands.merge(set.operands);
    all.c.merge(set.c);
    all.d.merge(set.d);
    gpus.insert(set.gpu);
  }
  if (sets.empty()) return "  rows               none\n";
  out += fmt::format("  rows               {} of {}\n", all.rows, fmt::join(gpus, ", "));
  out += fmt::format("    a and b          {}\n", range_text(all.operands));
  out += fmt::format("    c                {}\n", range_text(all.c));
  out += fmt::format("    d                {}\n", range_text(all.d));
  return out;
}

std::string head_of(const Architecture& on) {
  std::string families;
  for (std::size_t i = 0; i < family_names.size(); ++i) {
    if (on.families.contains(static_cast<Family>(i))) {
      families += " " + std::string(family_names[i]);
    }
  }
  return fmt::format("sm_{}{}  {}:{}", on.sm, on.suffix == ' ' ? "" : std::string(1, on.suffix),
                     on.gpus, families);
}

}  // namespace

std::vector<InstructionGroup> groups_of(int sm) {
  std::vector<InstructionGroup> out;
  for (const Instruction& x : instructions_of(sm)) {
    const Knowledge known = knowledge_of(x);
    const auto same = [&](const InstructionGroup& group) { return share_group(group, x, known); };
    const auto found = std::ranges::find_if(out, same);
    if (found == out.end()) {
      out.push_back({{x}, known});
    } else {
      take(*found, x, known);
    }
  }
  return out;
}

std::string shapes_text(const InstructionGroup& group) {
  std::string out;
  for (std::size_t i = 0; i < family_names.size(); ++i) {
    std::set<int> depths;
    for (const Instruction& x : group.instructions) {
      if (x.family == static_cast<Family>(i)) depths.insert(x.k);
    }
    if (depths.empty()) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", family_names[i]);
    for (const int k : depths) out += fmt::format(" k{}", k);
  }
  return out;
}

std::string types_text(const InstructionGroup& group) {
  const Instruction& x = group.instructions.front();
  const std::string c = x.types.c == x.types.d ? "" : ", c " + std::string(type_name(x.types.c));
  return fmt::format("{}{} → {}", operands_text(group), c, type_name(x.types.d));
}

std::string numbers_text(const DotModel& m) {
  switch (m.recipe) {
    case Recipe::fused_block:
    case Recipe::expanded:
      return fmt::format("{:>3}{:>4}{:>6}", m.block, m.fraction_bits, m.exponent_floor);
    case Recipe::fma_chain: return fmt::format("{:>13}", "chain of fma");
    case Recipe::mul_add_chain: return fmt::format("{:>13}", "mul, add");
    case Recipe::pairwise: return fmt::format("{:>13}", "pairs in f32");
    case Recipe::exact_integer: return fmt::format("{:>13}", "exact");
  }
  return {};
}

std::string rounded_text(const Instruction& x) {
  const DotModel& m = x.model;
  if (m.recipe == Recipe::exact_integer) return "";
  const bool cut = m.rounding == Rounding::toward_zero && m.recipe != Recipe::pairwise;
  std::string out = cut ? "cut" : "nearest";
  if (m.grid.precision == 14) out += " to 14 b";
  if (m.c_last) out += ", + c";
  const bool narrows = m.through_f32 || m.recipe == Recipe::pairwise;
  if (narrows && x.types.d == binary16) out += ", f16";
  return out;
}

std::string overview_text(int sm) {
  const Architecture* on = find_architecture(sm);
  std::string out = head_of(*on) + "\n";
  out += fmt::format("  {:<17}{:<23}{:>3}{:>4}{:>6}  {:<12}", "a, b → d", "instructions", "L", "F",
                     "floor", "rounded");
  for (const AspectRow& row : aspects) out += " " + std::string(row.brief);
  out += "\n";
  for (const InstructionGroup& group : groups_of(sm)) {
    const Instruction& x = group.instructions.front();
    out += "  " + left(types_text(group), 17) + left(shapes_text(group), 23) +
           numbers_text(x.model) + "  " + left(rounded_text(x), 12);
    for (std::size_t i = 0; i < aspect_count; ++i) {
      const KnownAspect& cell = group.known[i];
      const std::string_view mark =
          cell.matters ? letters[static_cast<std::size_t>(cell.evidence)] : "·";
      const std::size_t width = columns(aspects[i].brief);
      out += " " + left(std::string((width - 1) / 2, ' ') + std::string(mark), width);
    }
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out;
}

std::string overview_legend() {
  std::string out = R"(
L: products in one fused sum; longer k are chains of them. F: bits kept below the largest exponent, which is at least
the floor. cut: toward zero. + c: sums begin at +0, c is added at the end. f16: sums in f32 become f16 at the end.
H hardware: recorded rows decide it and are reproduced. M machine code: ptxas makes it of known instructions.
P paper: published models agree. ? open: by analogy, or publications differ. ·: no operands can touch it.
)";
  for (const AspectRow& row : aspects)
    out += fmt::format("{:<6} {}: {}\n", row.brief, row.name, row.question);
  return out;
}

std::string evidence_in_full(int sm) {
  std::string out = head_of(*find_architecture(sm)) + "\n";
  for (const InstructionGroup& group : groups_of(sm)) {
    out += fmt::format("\n{}: {}\n", types_text(group), shapes_text(group));
    const std::string names = name_of(group.instructions.front());
    out += fmt::format("  {}{}\n", names,
                       group.instructions.size() == 1
                           ? ""
                           : fmt::format(" and {} more", group.instructions.size() - 1));
    for (std::size_t i = 0; i < aspect_count; ++i) {
      out += fmt::format("  {:<19}{}", aspects[i].name, cell_text(group.known[i]));
    }
    out += rows_text(group);
  }
  return out;
}

}  // namespace binade
