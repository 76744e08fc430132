// SPDX-License-Identifier: Apache-2.0
//
// Groups instructions, and writes the groups as text.
#include "lib/evidence/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lib/evidence/seen.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 10> operand_names{"f16",    "bf16", "tf32", "fp8",  "e2m1",
                                                         "f8f6f4", "f64",  "int8", "int4", "b1"};
/// The columns of the types and of the shapes.
constexpr std::size_t types_width = 17, shapes_width = 23;
constexpr std::array<std::string_view, 4> letters{"H", "M", "P", "?"};

std::string_view letter_of(const KnownAspect& known) {
  if (!known.matters) return "·";
  return known.in_part() ? "h" : letters[static_cast<std::size_t>(known.evidence)];
}

/// Returns a number that is equal for operand types that may share a group: each type of 16 bits or
/// more is by itself, FP8 and narrower types are one, and integers of one width are one.
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
    const bool by_hardware = one.evidence == Evidence::hardware;
    const bool same = letter_of(one) == letter_of(other) && one.agrees == other.agrees &&
                      (by_hardware || one.source == other.source);
    same_known = same_known && (same || !one.matters || !other.matters);
  }
  return same_known && y.model == x.model && y.types.c == x.types.c && y.types.d == x.types.d &&
         kind_of_operands(y.types.a) == kind_of_operands(x.types.a) &&
         share_machine_code(y.family, x.family);
}

/// Returns the names of two lists of GPUs, each once.
std::string joined(const std::string& one, const std::string& other) {
  std::vector<std::string> out;
  for (const std::string& list : {one, other}) {
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(", ", begin), list.size());
      const std::string name = list.substr(begin, end - begin);
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
      begin = end + 2;
    }
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

/// Adds an instruction to a group. If an aspect matters to some instructions of a group only, the
/// group says what is known about those. A rival that is not excluded for one of them is not
/// excluded for the group.
void take(InstructionGroup& group, const Instruction& x, const Knowledge& known) {
  group.instructions.push_back(x);
  for (std::size_t i = 0; i < aspect_count; ++i) {
    KnownAspect& out = group.known[i];
    if (!known[i].matters) continue;
    if (!out.matters) {
      out = known[i];
      continue;
    }
    if (out.evidence == Evidence::hardware) out.source = joined(out.source, known[i].source);
    for (const RivalRows& row : known[i].rivals) {
      const auto own = std::ranges::find(out.rivals, row.rival, &RivalRows::rival);
      if (own == out.rivals.end()) {
        out.rivals.push_back(row);
      } else if (row.rows == 0) {
        own->rows = 0;
      }
    }
  }
}

std::set<std::size_t> sets_of(const InstructionGroup& group) {
  std::set<std::size_t> out;
  for (const Instruction& x : group.instructions) {
    for (const std::size_t at : sets_for(x)) out.insert(at);
  }
  return out;
}

/// Counts the rows of all sets that are evidence for a group, in place of those of its first
/// instruction.
void count_rows(InstructionGroup& group) {
  const std::set<std::size_t> sets = sets_of(group);
  for (KnownAspect& known : group.known) {
    for (RivalRows& row : known.rivals) {
      if (row.rows == 0) continue;
      row.rows = 0;
      const std::string name = row.rival.substr(0, row.rival.find(" ("));
      for (const std::size_t at : sets) {
        const auto told = recorded_sets()[at].told.find(name);
        if (told != recorded_sets()[at].told.end()) row.rows += told->second;
      }
    }
  }
}

/// Returns the name of the smallest set of operand types that holds all of a group.
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

/// Returns whether a group is of sparse instructions of which nothing is known but what is known of
/// dense ones.
bool is_as_dense(const InstructionGroup& group) {
  const Family own = group.instructions.front().family;
  const auto is_open = [](const KnownAspect& x) {
    return !x.matters || x.evidence == Evidence::open;
  };
  return own != dense_family(own) && std::ranges::all_of(group.known, is_open);
}

/// Returns "mma.sp k16 k32".
std::string family_text(Family family, const std::set<int>& depths) {
  std::string out(family_names[static_cast<std::size_t>(family)]);
  for (const int k : depths) out += fmt::format(" k{}", k);
  return out;
}

std::string cell_text(const KnownAspect& cell) {
  if (!cell.matters) return "no operands can touch it\n";
  std::string out = fmt::format("{:<13} {}", evidence_name(cell.evidence), cell.source);
  std::vector<std::string> excluded, left;
  for (const RivalRows& row : cell.rivals) {
    if (row.rows == 0 && row.rival != cell.words_exclude) {
      left.push_back(row.rival);
    } else if (row.rows != 0) {
      excluded.push_back(fmt::format("{} by {}", row.rival, row.rows));
    }
  }
  const auto line = [&out](const char* head, const std::vector<std::string>& words) {
    if (words.empty()) return;
    out += fmt::format("\n{:<21}{:<13} {}", "", head, fmt::join(words, ", "));
  };
  line("rows exclude", excluded);
  if (!cell.words_exclude.empty()) line("words exclude", {cell.words_exclude});
  line("not excluded", left);
  if (!cell.agrees.empty()) line("agrees", {cell.agrees});
  return out + "\n";
}

std::string rows_text(const InstructionGroup& group) {
  const std::set<std::size_t> sets = sets_of(group);
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
  out += fmt::format("    |a| and |b|      {}\n", range_text(all.operands));
  out += fmt::format("    |c|              {}\n", range_text(all.c));
  out += fmt::format("    |d|              {}\n", range_text(all.d));
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
  for (InstructionGroup& group : out) count_rows(group);
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
    out += (out.empty() ? "" : ", ") + family_text(static_cast<Family>(i), depths);
  }
  const Instruction& one = group.instructions.front();
  if (!is_scaled(one.model)) return out;
  return out + fmt::format(" {}/{}", name_of(one.kind).type, one.model.scaling.share);
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
  out += "  " + left_aligned("a, b → d", types_width) + left_aligned("instructions", shapes_width) +
         fmt::format("{:>3}{:>4}{:>6}  {:<12}", "L", "F", "floor", "rounded");
  for (const AspectRow& row : aspects) out += " " + std::string(row.brief);
  out += "\n";
  std::map<Family, std::set<int>> as_dense;
  for (const InstructionGroup& group : groups_of(sm)) {
    const Instruction& x = group.instructions.front();
    if (is_as_dense(group)) {
      for (const Instruction& one : group.instructions) as_dense[one.family].insert(one.k);
      continue;
    }
    out += "  " + left_aligned(types_text(group), types_width) +
           left_aligned(shapes_text(group), shapes_width) + numbers_text(x.model) + "  " +
           left_aligned(rounded_text(x), 12);
    for (std::size_t i = 0; i < aspect_count; ++i) {
      const KnownAspect& cell = group.known[i];
      const std::string_view mark = letter_of(cell);
      const std::size_t width = columns_of(aspects[i].brief);
      out += " " + left_aligned(std::string((width - 1) / 2, ' ') + std::string(mark), width);
    }
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  for (const auto& [family, depths] : as_dense) {
    out += fmt::format("  {}: as {} of half that k, by analogy (? in every column)\n",
                       family_text(family, depths),
                       family_names[static_cast<std::size_t>(dense_family(family))]);
  }
  return out;
}

std::string overview_legend() {
  std::string out = R"(
L: products in one fused sum; longer k are chains of them. F: bits kept below the largest exponent, which is at least
the floor. ue8m0/32: times scales of this type, one of a and one of b for each 32 products. cut: toward zero. + c: sums
begin at +0, c is added at the end. f16: sums in f32 become f16 at the end.
H hardware: recorded rows exclude every other rule that is asked about; h: some of them. M machine code: ptxas makes it
of known instructions. P paper: published models agree. ? open: by analogy, or publications differ. ·: no operands can
touch it. --evidence tells in full. What ptxas makes of other instructions (FP8 mma on sm_90 and sm_100, m8n8k4 of f16
from sm_80 on, wmma of tf32, c unlike d) may change with CUDA.
)";
  for (const AspectRow& row : aspects)
    out += fmt::format("{:<6} {}: {}\n", row.brief, row.name, row.question);
  return out;
}

std::string evidence_legend() {
  return R"(
Rivals are other rules; a row excludes one that gives it another result than the hardware did.
F - 1, F + 1: a bit less or more is kept. L / 2: half as many products in a sum. other rounding: to nearest instead of
toward zero, or the other way. one block: all of k in one sum. highest k first: the last block begins. zero_raises: a
product of zero counts, a zero having binary32's smallest exponent (single) or its format's (emin). floor -126, no floor:
in place of the table's. cut_to_zero negative: a negative sum whose rounding gives zero is -0. -0 and -0 are -0: sums of
nothing but -0. c = 0 has c's emin: a c of zero counts. NaN 7FC00000, Inf is the largest number, the largest number,
flushed: what is delivered in place of 7FFFFFFF, of Inf, of Inf on overflow, of a subnormal. Where nobody has another rule
(IEEE 754's operations), a row that asks for the rule is enough: NaN or Inf, Inf of numbers, a subnormal d, d of zero.
)";
}

std::string evidence_in_full(int sm) {
  std::string out = head_of(*find_architecture(sm)) + "\n";
  for (const InstructionGroup& group : groups_of(sm)) {
    out += fmt::format("\n{}: {}\n", types_text(group), shapes_text(group));
    constexpr std::size_t most_names = 6;
    for (std::size_t i = 0; i < std::min(most_names, group.instructions.size()); ++i) {
      out += "  " + instruction_name(group.instructions[i]) + "\n";
    }
    if (group.instructions.size() > most_names) {
      out += fmt::format("  and {} more\n", group.instructions.size() - most_names);
    }
    for (std::size_t i = 0; i < aspect_count; ++i) {
      out += fmt::format("  {:<19}{}", aspects[i].name, cell_text(group.known[i]));
    }
    out += rows_text(group);
  }
  return out;
}

}  // namespace binade
