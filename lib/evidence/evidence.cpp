// SPDX-License-Identifier: Apache-2.0
//
// Holds the table of claims, and adds to it what recorded rows exclude.
#include "lib/evidence/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/evidence/seen.h"
#include "lib/instruction/instruction_name.h"

namespace binade {
namespace {

/// A set of aspects, one bit for each.
using Aspects = unsigned;
template <typename... More>
constexpr Aspects bits_of_aspects(More... more) {
  return ((1U << static_cast<unsigned>(more)) | ...);
}
constexpr Aspects every_aspect = (1U << aspect_count) - 1;
constexpr Aspects signs = bits_of_aspects(Aspect::signs_of_zero);
constexpr Aspects nan_bits_of_f64 = bits_of_aspects(Aspect::specials);

/// What publications say about some aspects of some instructions, for aspects that no recorded row
/// decides. The first row that fits an instruction and an aspect counts.
struct Claim {
  Families families;
  int first_sm, last_sm;  ///< architectures, as told_as() gives them; or one by its own name
  Aspects aspects;
  Evidence evidence;
  std::string_view source;
  bool (*meant)(const Instruction& x);
  std::string_view excluded = {};  ///< the rival that published words of hardware contradict
};

constexpr std::string_view both = "MMA-Sim 2.1, MATLAB-tensor-core";
constexpr std::string_view mma_sim = "MMA-Sim 2.1";
constexpr std::string_view signs_differ = "MMA-Sim 2.1: +0, as here; MATLAB-tensor-core: -0";
/// Words that a B200 gave for tcgen05.mma, in a public project that holds its model against some 46
/// million dots of that GPU; the words themselves are compared by tests/emulate/scaled_words_test.
constexpr std::string_view words_of_b200 = "MMA-Sim 2.1, words of a B200 (sf-tensor/tcgen05)";
constexpr Families tcgen05_only{.tcgen05 = true};
/// What its words for tcgen05.mma.sp tell, whose operands are ones and zeros: nothing of the sums.
constexpr std::string_view words_of_places =
    "; words of a B200 (sf-tensor/tcgen05): which elements are kept, which scales they have";
/// The rival that the word "carry" of these contradicts.
constexpr std::string_view one_by_one = "products scaled one by one";

bool fused(const Instruction& x) { return is_fused(x.model); }
bool is_integer_sum(const Instruction& x) { return x.model.recipe == Recipe::exact_integer; }
bool is_double(const Instruction& x) { return x.types.d == binary64; }
bool is_m8n8k4(const Instruction& x) { return x.types.a == binary16 && x.k == 4; }
bool is_narrowed(const Instruction& x) { return is_fused(x.model) && x.model.through_f32; }
bool is_fp8_to_f16(const Instruction& x) {
  return is_fused(x.model) && x.types.a.storage_bits() == 8 && x.types.d == binary16;
}
bool has_narrow_c(const Instruction& x) {
  return is_fused(x.model) && x.types.c != x.types.d && fits_in(x.types.c, x.types.d);
}
bool any(const Instruction&) { return true; }
bool scaled(const Instruction& x) { return is_scaled(x.model); }
bool scaled_e2m1(const Instruction& x) {
  return is_scaled(x.model) && x.types.a == e2m1 && x.types.b == e2m1;
}
bool unscaled_fused(const Instruction& x) { return fused(x) && !is_scaled(x.model); }
bool is_nvfp4(const Instruction& x) { return x.model.scaling.format == ue4m3; }
bool is_grouped(const Instruction& x) { return x.model.scaling.group != 0; }
bool is_bf16(const Instruction& x) { return fused(x) && x.types.a == bfloat16; }
bool is_mxfp8(const Instruction& x) { return x.kind == ScaledKind::mxf8f6f4 && !scaled_e2m1(x); }

/// Returns whether one of the words of tcgen05.mma.sp is that of an instruction with x's types.
bool has_word_of_places(const Instruction& x) {
  const bool is_told = x.kind == ScaledKind::mxf8f6f4 ? x.types.a == e4m3 : scaled(x);
  return x.family == Family::tcgen05_sp && x.sm == 100 && is_told && x.types.a == x.types.b;
}

/// The architectures for which somebody read the machine code of ptxas 13.0.
constexpr std::array read_machine_code{75, 80, 86, 89, 90, 100, 120};

/// Returns the architecture under whose name publications describe another one: its own, A100's
/// (sm_80) for sm_86, or 0 if none describes it.
int told_as(int sm) {
  const Architecture* on = find_architecture(sm);
  return sm == 86 ? 80 : on != nullptr && on->like == sm ? sm : 0;
}

/// The claims. MMA-Sim's numbers are those of its release 2.1.1 (its first, arXiv 2511.10909v1, let
/// zeros count and had a floor of -126); MATLAB-tensor-core's are those of commit b12b5a7, which
/// has no Turing, no FP8 into binary16 and no c of another type than d, and says nothing about the
/// bits of NaNs.
const Claim claims[]{
    {mma_and_tcgen05, 110, 110, bits_of_aspects(Aspect::ordinary), Evidence::open,
     "as sm_100; 73 728 words that a user of a Thor published: F 25, L 16", is_bf16},
    {mma_and_tcgen05, 110, 110, bits_of_aspects(Aspect::ordinary), Evidence::open,
     "as sm_100; 73 728 words that a user of a Thor published: F 25", is_mxfp8},
    {mma_and_tcgen05, 100, 120, signs, Evidence::paper,
     "MMA-Sim 2.1, sf-tensor/tcgen05 (affce0c): c = -0 alone is +0, as here; before: -0", scaled},
    {tcgen05_only, 100, 100, bits_of_aspects(Aspect::ordinary), Evidence::open,
     "MMA-Sim 2.1, as here; sf-tensor/tcgen05, held against a B200: another exponent of groups, "
     "which few operands show",
     is_nvfp4, one_by_one},
    {tcgen05_only, 100, 100, bits_of_aspects(Aspect::ordinary), Evidence::paper, words_of_b200,
     is_grouped, one_by_one},
    {tcgen05_only, 100, 100, bits_of_aspects(Aspect::ordinary), Evidence::paper, words_of_b200,
     scaled_e2m1},
    {mma_and_tcgen05, 100, 120, every_aspect, Evidence::paper, mma_sim, scaled},
    {tcgen05_only, 100, 100,
     bits_of_aspects(Aspect::ordinary, Aspect::zero_operands, Aspect::specials, Aspect::subnormals,
                     Aspect::signs_of_zero),
     Evidence::paper, words_of_b200, unscaled_fused},
    {warp, 70, 70, every_aspect, Evidence::open, "as sm_75", is_narrowed},
    {every_family, 80, 120, every_aspect, Evidence::paper, "PTX ISA 9.0", is_integer_sum},
    {every_family, 80, 120, nan_bits_of_f64, Evidence::open, "as sm_90", is_double},
    {every_family, 80, 120, every_aspect, Evidence::paper, mma_sim, is_double},
    {mma_only, 80, 120, every_aspect, Evidence::machine_code, "FFMA and FADD, ptxas 13.0",
     is_m8n8k4},
    {warp, 70, 75, bits_of_aspects(Aspect::mixed_types), Evidence::open,
     "MMA-Sim 2.1: c keeps f16's emin; widened here, as H100's wmma", has_narrow_c},
    {warp, 70, 75, every_aspect, Evidence::paper, mma_sim, has_narrow_c},
    {warp, 75, 75, every_aspect, Evidence::paper, mma_sim, any},
    {every_family, 70, 120, signs, Evidence::open, signs_differ, fused},
    {every_family, 70, 120, every_aspect, Evidence::paper, mma_sim, is_fp8_to_f16},
    {warp, 120, 120, every_aspect, Evidence::paper, mma_sim, fused},
    {warp, 70, 100,
     bits_of_aspects(Aspect::specials, Aspect::overflow, Aspect::exponent_floor,
                     Aspect::mixed_types),
     Evidence::paper, mma_sim, fused},
    {warp, 70, 100, every_aspect, Evidence::paper, both, fused},
    {every_family, 90, 120, every_aspect, Evidence::paper, mma_sim, fused},
};

/// An emulator of others that was compared with ours, and what the comparison tells of.
struct Comparison {
  Family family;
  int sm, k;
  Aspects aspects;
  std::string_view with;
};

/// mmaemu was fitted to what an RTX 4060's mma and the wgmma of cuBLAS on an H100 PCIe made of FP8;
/// it says of itself that it does not model sm_90's mma. Random dots and products, on which it was
/// compared, tell of ordinary values and of chaining.
constexpr Comparison comparisons[]{
    {Family::mma, 89, 32, bits_of_aspects(Aspect::ordinary, Aspect::chaining), "mmaemu 0.1.0"},
    {Family::wgmma, 90, 32, bits_of_aspects(Aspect::ordinary, Aspect::chaining), "mmaemu 0.1.0"},
};

std::string compared_with(const Instruction& x, Aspect aspect) {
  const bool is_fp8 = x.types.a.exponent_bits > 0 && x.types.a.storage_bits() == 8;
  for (const Comparison& row : comparisons) {
    const bool fits = row.family == x.family && row.sm == x.sm && row.k == x.k &&
                      (row.aspects >> static_cast<unsigned>(aspect) & 1) != 0;
    if (fits && is_fp8 && x.types.d == binary32) return std::string(row.with);
  }
  return {};
}

/// Returns the instruction that ptxas 13.0 makes an instruction of. Returns nothing if it is one
/// machine instruction, or if nobody has read the machine code (sm_70 is older than that ptxas).
std::optional<Instruction> made_of(const Instruction& x) {
  Instruction out = x;
  const bool read = std::ranges::find(read_machine_code, x.sm) != read_machine_code.end();
  if (!read || x.family != dense_family(x.family)) return std::nullopt;
  if (is_narrowed(x)) {  // ptxas makes HMMA.F32, then F2FP.F16
    out.types.c = out.types.d = binary32;
    out.model.through_f32 = false;
    return out;
  }
  if (x.family == Family::wmma && has_narrow_c(x)) {  // ptxas converts c to binary32, then HMMA.F32
    out.types.c = out.types.d;
    return out;
  }
  if (x.model.recipe == Recipe::expanded) {
    out.k = 16;
    out.types.a = out.types.b = binary16;
    out.model.recipe = Recipe::fused_block;
    out.model.c_last = false;
    return out;
  }
  const bool two_of_four = x.family == Family::wmma && x.types.a == tf32 && x.model.block < x.k;
  const bool double_of_four = is_double(x) && x.k > 4 && x.sm >= 100;
  if (!two_of_four && !double_of_four) return std::nullopt;
  out.family = Family::mma;
  out.k = 4;
  return out;
}

/// Returns whether the instruction is a chain of several machine instructions.
bool chains_several(const Instruction& x) {
  return x.model.recipe == Recipe::expanded || x.types.a == tf32 || is_double(x) || x.sm == 75;
}

/// Returns the k of the machine instruction that a warp's instruction is made of: that of Volta's
/// HMMA.884, of HMMA.1688 for wmma on sm_75, and of HMMA.1684 for wmma of tf32.
int machine_k(const Instruction& x) {
  if (x.sm == 70) return 4;
  if (x.family == Family::wmma && x.types.a == tf32) return 4;
  if (x.family == Family::wmma && x.sm == 75) return 8;
  return x.k;
}

/// Returns whether the rows of a set are evidence for x. Rows of one operand type count for
/// instructions with two types of which that is one, although they cannot touch the aspect of mixed
/// types.
bool covers(const Instruction& set, const Instruction& x) {
  const auto is_one = [&x](const Format& f) { return f == x.types.a || f == x.types.b; };
  return set.sm == x.sm && share_machine_code(set.family, x.family) &&
         machine_k(set) == machine_k(x) && set.model == x.model && set.types.c == x.types.c &&
         set.types.d == x.types.d && is_one(set.types.a) && is_one(set.types.b);
}

const std::vector<Instruction>& recorded_instructions_of_sets() {
  static const std::vector<Instruction> out = [] {
    std::vector<Instruction> made;
    for (const SeenSet& set : recorded_sets()) {
      made.push_back(parse_instruction(set.instruction, set.sm));
    }
    return made;
  }();
  return out;
}

void add_once(std::vector<std::string>& to, const std::string& text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(text);
}

/// Returns the rival's name with the publication whose rule it is.
std::string titled(const Rival& rival) {
  return rival.whose.empty() ? rival.name : fmt::format("{} ({})", rival.name, rival.whose);
}

/// Adds to an aspect how many recorded rows exclude each rival, and the GPUs of these rows.
void add_rows(KnownAspect& known, Aspect aspect, const std::vector<Rival>& rivals,
              const Instruction& x, const std::vector<std::size_t>& sets) {
  // GPUs that ran the instruction itself, or another one with the same machine code
  std::vector<std::string> own, others;
  for (const Rival& rival : rivals) {
    if (rival.aspect != aspect) continue;
    RivalRows rows{titled(rival), 0};
    for (const std::size_t at : sets) {
      const SeenSet& set = recorded_sets()[at];
      const auto told = set.told.find(rival.name);
      if (told == set.told.end()) continue;
      rows.rows += told->second;
      const Family family = recorded_instructions_of_sets()[at].family;
      add_once(family == x.family ? own : others, set.gpu);
    }
    known.rivals.push_back(std::move(rows));
  }
  if (own.empty() && others.empty()) return;
  for (const std::string& gpu : others) {
    if (std::ranges::find(own, gpu) != own.end()) continue;
    own.push_back(gpu + (x.family == Family::mma ? " by wmma" : " by mma"));
  }
  known.evidence = Evidence::hardware;
  known.source = fmt::format("{}", fmt::join(own, ", "));
}

void claim(KnownAspect& cell, Aspect aspect, const Instruction& x) {
  if (x.family != dense_family(x.family)) {
    cell.source =
        "as " + std::string(family_names[static_cast<std::size_t>(dense_family(x.family))]);
    if (aspect == Aspect::ordinary && has_word_of_places(x)) cell.source += words_of_places;
    return;
  }
  const int told = told_as(x.sm);
  for (const Claim& row : claims) {
    const bool own = row.first_sm == x.sm && row.last_sm == x.sm;
    const bool meant_here = own || (told >= row.first_sm && told <= row.last_sm);
    const bool fits = row.families.contains(x.family) && meant_here &&
                      (row.aspects >> static_cast<unsigned>(aspect) & 1) != 0;
    if (!fits || !row.meant(x)) continue;
    cell.evidence = row.evidence;
    cell.source = row.source;
    cell.words_exclude = row.excluded;
    return;
  }
  const Architecture* on = find_architecture(x.sm);
  cell.source = on != nullptr && told == 0 ? "as sm_" + std::to_string(on->like) : "by analogy";
}

}  // namespace

bool KnownAspect::in_part() const {
  const auto excluded = [](const RivalRows& x) { return x.rows != 0; };
  return evidence == Evidence::hardware && !std::ranges::all_of(rivals, excluded);
}

bool share_machine_code(Family x, Family y) {
  return x == y || (warp.contains(x) && warp.contains(y));
}

std::vector<std::size_t> sets_for(const Instruction& x) {
  std::vector<std::size_t> out;
  const std::vector<Instruction>& recorded = recorded_instructions_of_sets();
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (covers(recorded[i], x)) out.push_back(i);
  }
  return out;
}

Knowledge knowledge_of(const Instruction& x) {
  Knowledge out;
  const std::vector<Rival> rivals = rivals_of(x);
  const std::vector<std::size_t> sets = sets_for(x);
  const std::optional<Instruction> parts = made_of(x);
  const Knowledge of_parts = parts ? knowledge_of(*parts) : Knowledge{};
  for (std::size_t i = 0; i < aspect_count; ++i) {
    const auto aspect = static_cast<Aspect>(i);
    KnownAspect& cell = out[i];
    cell.matters = std::ranges::find(rivals, aspect, &Rival::aspect) != rivals.end();
    if (!cell.matters) continue;
    cell.agrees = compared_with(x, aspect);
    add_rows(cell, aspect, rivals, x, sets);
    if (cell.evidence == Evidence::hardware) continue;
    claim(cell, aspect, x);
    if (!parts) continue;
    const KnownAspect& part = of_parts[i];
    const bool own = !part.matters || (aspect == Aspect::chaining && chains_several(x));
    cell.evidence = own ? Evidence::machine_code : std::max(part.evidence, Evidence::machine_code);
    if (cell.evidence == Evidence::machine_code) cell.source = "ptxas 13.0";
    if (cell.evidence > Evidence::machine_code) cell.source = part.source;
  }
  return out;
}

Brief brief_of(const Knowledge& x) {
  const KnownAspect& values = known_of(x, Aspect::ordinary);
  Brief out{values.evidence, values.source, {}};
  for (const Evidence word : {Evidence::machine_code, Evidence::paper, Evidence::open}) {
    std::vector<std::string_view> names;
    for (std::size_t i = 1; i < aspect_count; ++i) {
      if (x[i].matters && x[i].evidence == word) names.push_back(aspects[i].name);
    }
    if (names.empty() || (word == values.evidence && word != Evidence::open)) continue;
    out.open += fmt::format("{}{}: {}", out.open.empty() ? "" : "; ", evidence_name(word),
                            fmt::join(names, ", "));
  }
  return out;
}

std::string evidence_text(const Brief& x) {
  return fmt::format("{} ({}){}{}", evidence_name(x.evidence), x.source, x.open.empty() ? "" : "; ",
                     x.open);
}

Brief brief_of(const Instruction& x) { return brief_of(knowledge_of(x)); }

std::vector<OpenAspect> open_aspects(const Instruction& x) {
  std::vector<OpenAspect> out;
  const Knowledge known = knowledge_of(x);
  const std::vector<Rival> rivals = rivals_of(x);
  for (std::size_t i = 0; i < aspect_count; ++i) {
    OpenAspect open{static_cast<Aspect>(i), known[i].evidence, {}};
    for (const Rival& rival : rivals) {
      const auto left = [&](const RivalRows& row) {
        return row.rival == titled(rival) && row.rows == 0;
      };
      const bool own = rival.aspect == open.aspect;
      if (own && std::ranges::any_of(known[i].rivals, left)) open.rivals.push_back(rival);
    }
    if (open.rivals.empty()) continue;
    out.push_back(std::move(open));
  }
  return out;
}

}  // namespace binade
