// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing names of Tensor Core instructions.
#include "lib/instruction/instruction_name.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

std::optional<Format> find_type(std::string_view name) {
  const auto row = std::ranges::find(type_names, name, &TypeName::name);
  return row == type_names.end() ? std::nullopt : std::optional(row->format);
}

struct Shape {
  int m = 0, n = 0, k = 0;
};

std::optional<Shape> parse_shape(std::string_view text) {
  Shape out;
  for (const auto& [letter, value] : {std::pair{'m', &out.m}, {'n', &out.n}, {'k', &out.k}}) {
    if (text.empty() || text[0] != letter) return std::nullopt;
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    if (error != std::errc{} || *value <= 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

/// The parts of a name. Whether PTX has such an instruction is checked later.
struct Parsed {
  Family family = Family::mma;
  Shape shape;
  std::optional<Rounding> rounding;
  IntegerModel integer;
  WgmmaScales scales;
  DotTypes types;
  ScaledKind kind = ScaledKind::none;
};

/// A suffix of a name of wgmma, which has at most one of them.
struct NamedScale {
  std::string_view text, ptx;
  bool WgmmaScales::*set;
};
constexpr NamedScale scale_names[]{
    {".scale_d_0", " with scale-d 0", &WgmmaScales::without_c},
    {".imm_scale_a_-1", " with imm-scale-a -1", &WgmmaScales::minus_a},
    {".imm_scale_b_-1", " with imm-scale-b -1", &WgmmaScales::minus_b},
};

/// The two operations of .b1, which stand at the end of a name.
constexpr std::string_view and_popc = ".and.popc";
constexpr std::string_view xor_popc = ".xor.popc";

/// Removes from `name` the longest family that it begins with, and returns that.
std::optional<Family> take_family(std::string_view& name) {
  std::string_view found;
  for (const std::string_view family : family_names) {
    const bool here = name.starts_with(family) && name.substr(family.size()).starts_with('.');
    if (here && family.size() > found.size()) found = family;
  }
  if (found.empty()) return std::nullopt;
  name.remove_prefix(found.size() + 1);
  const auto row = std::ranges::find(family_names, found);
  return static_cast<Family>(row - family_names.begin());
}

/// The words of a name between its shape and its types, with what stands before the kind's own.
constexpr std::string_view kind_word = "kind::";
constexpr std::string_view scales_word = "block_scale";
constexpr std::string_view vector_word = "scale_vec::";

/// Removes a kind with scales of blocks and the scales' type from the words of a name, of which the
/// first is the shape. Returns nothing if the words begin a kind that PTX does not have.
std::optional<ScaledKind> take_kind(std::vector<std::string_view>& parts) {
  if (!parts[1].starts_with(kind_word)) return ScaledKind::none;
  constexpr std::size_t words = 3;
  for (std::size_t i = 1; i < scaled_kinds.size() && parts.size() > words + 1; ++i) {
    const ScaledKindName& row = scaled_kinds[i];
    const bool same = parts[1].substr(kind_word.size()) == row.kind && parts[2] == scales_word &&
                      parts[3].starts_with(vector_word) &&
                      parts[3].substr(vector_word.size()) == row.vector && parts.back() == row.type;
    if (!same) continue;
    parts.pop_back();
    parts.erase(parts.begin() + 1, parts.begin() + 1 + words);
    return static_cast<ScaledKind>(i);
  }
  return std::nullopt;
}

std::optional<Parsed> parse(std::string_view name) {
  Parsed out;
  const std::optional<Family> family = take_family(name);
  if (!family) return std::nullopt;
  out.family = *family;
  for (const NamedScale& row : scale_names) {
    if (out.family != Family::wgmma || !name.ends_with(row.text)) continue;
    out.scales.*row.set = true;
    name.remove_suffix(row.text.size());
    break;
  }
  out.integer.exclusive_or = name.ends_with(xor_popc);
  const bool popc = out.integer.exclusive_or || name.ends_with(and_popc);
  if (popc) name.remove_suffix(and_popc.size());
  std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() < 4) return std::nullopt;
  const std::optional<Shape> shape = parse_shape(parts[0]);
  if (!shape) return std::nullopt;
  out.shape = *shape;
  const std::optional<ScaledKind> kind = take_kind(parts);
  if (!kind || parts.size() < 4) return std::nullopt;
  out.kind = *kind;
  for (const NamedRounding& row : roundings) {
    if (row.ptx.empty() || row.ptx != parts[1]) continue;
    out.rounding = row.rounding;
    parts.erase(parts.begin() + 1);
    break;
  }
  out.integer.satfinite = parts[1] == "satfinite";
  if (out.integer.satfinite) parts.erase(parts.begin() + 1);
  const bool has_c = names_c(out.family);
  if (parts.size() != (has_c ? 5U : 4U)) return std::nullopt;
  std::array<Format, 4> types{};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::optional<Format> type = find_type(parts[i]);
    if (!type) return std::nullopt;
    types[i - 1] = *type;
  }
  out.types = {types[1], types[2], has_c ? types[3] : types[0], types[0]};
  const bool one_bit = out.types.a == b1;
  if (is_integer(out.types.a) && out.scales != WgmmaScales{}) return std::nullopt;
  if (popc != one_bit || (out.integer.satfinite && (one_bit || out.types.d != s32))) {
    return std::nullopt;
  }
  return out;
}

std::optional<Instruction> found(const Parsed& x, int sm) {
  std::optional<Instruction> out =
      find_instruction(x.family, sm, x.shape.m, x.shape.n, x.shape.k, x.types, x.kind);
  if (out) {
    out->model.integer = x.integer;
    out->model.scales = x.scales;
  }
  if (!out || !x.rounding) return out;
  const bool rounds = x.types.d == binary64 && *x.rounding != Rounding::ties_to_away &&
                      *x.rounding != Rounding::stochastic;
  if (!rounds) return std::nullopt;
  out->model.rounding = *x.rounding;
  return out;
}

Error unknown(std::string_view name, int sm) {
  std::vector<std::string> names;
  for (const Instruction& instruction : instructions_of(sm))
    names.push_back(instruction_name(instruction));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string hint = did_you_mean(name, views);
  return Error("sm_" + std::to_string(sm) + " has no instruction '" + printable(name) + "'" + hint +
               (hint.empty() ? "; " : " ") +
               "names are like mma.m16n8k16.f32.f16.f16.f32, see binade architectures --arch sm_" +
               std::to_string(sm));
}

std::string shape_words(const Instruction& x) {
  return ".m" + std::to_string(x.m) + "n" + std::to_string(x.n) + "k" + std::to_string(x.k);
}

/// Returns the part of a name that says a rounding other than to nearest, .satfinite, or a kind
/// with scales of blocks.
std::string qualifiers_of(const Instruction& x) {
  if (x.kind != ScaledKind::none) {
    const ScaledKindName& row = name_of(x.kind);
    std::string out = ".";
    out.append(kind_word).append(row.kind).append(".").append(scales_word).append(".");
    return out.append(vector_word).append(row.vector);
  }
  if (x.types.d == binary64 && x.model.rounding != Rounding::ties_to_even) {
    const auto row = std::ranges::find(roundings, x.model.rounding, &NamedRounding::rounding);
    return "." + std::string(row->ptx);
  }
  return x.model.integer.satfinite ? ".satfinite" : "";
}

/// Returns whether a format has less than 8 bits; PTX writes mma and tcgen05 with such an operand
/// differently.
bool is_narrow(const Format& f) { return f == e3m2 || f == e2m3 || f == e2m1; }

std::string tcgen05_kind(const Format& a) {
  return a == binary16 || a == bfloat16 ? "f16" : a == tf32 ? "tf32" : "f8f6f4";
}

}  // namespace

int parse_architecture(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("sm_")) digits.remove_prefix(3);
  if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
  int sm = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sm);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (whole && find_architecture(sm) != nullptr) return sm;
  std::vector<std::string> names;
  for (const Architecture& known : architectures) {
    names.push_back("sm_" + std::to_string(known.sm));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw Error("no architecture '" + printable(text) + "'; there are " + listed(views));
}

std::vector<std::string_view> gpu_names(const Architecture& on) {
  std::vector<std::string_view> out = split(on.gpus, ',');
  for (std::string_view& name : out) name.remove_prefix(name.starts_with(' ') ? 1 : 0);
  return out;
}

std::string architecture_range() {
  return "sm_" + std::to_string(architectures.front().sm) + " … sm_" +
         std::to_string(architectures.back().sm);
}

Instruction parse_instruction(std::string_view name, int sm) {
  const std::optional<Parsed> parsed = parse(name);
  if (!parsed) throw unknown(name, sm);
  if (const auto instruction = found(*parsed, sm)) return *instruction;
  std::vector<std::string> elsewhere;
  for (const Architecture& other : architectures) {
    if (found(*parsed, other.sm)) elsewhere.push_back("sm_" + std::to_string(other.sm));
  }
  if (elsewhere.empty()) throw unknown(name, sm);
  const std::vector<std::string_view> views(elsewhere.begin(), elsewhere.end());
  throw Error("sm_" + std::to_string(sm) + " has no " + printable(name) + "; it is on " +
              listed(views));
}

std::string instruction_name(const Instruction& x) {
  std::string out(family_names[static_cast<std::size_t>(x.family)]);
  out += shape_words(x) + qualifiers_of(x);
  for (const Format& f : {x.types.d, x.types.a, x.types.b}) out += "." + std::string(type_name(f));
  if (names_c(x.family)) out += "." + std::string(type_name(x.types.c));
  if (x.types.a == b1) out += x.model.integer.exclusive_or ? xor_popc : and_popc;
  if (x.kind != ScaledKind::none) out += "." + std::string(name_of(x.kind).type);
  for (const NamedScale& row : scale_names) {
    if (x.model.scales.*row.set) out += row.text;
  }
  return out;
}

std::string ptx_of(const Instruction& x) {
  for (const NamedScale& row : scale_names) {
    if (!(x.model.scales.*row.set)) continue;
    Instruction plain = x;
    plain.model.scales = {};
    return ptx_of(plain) + std::string(row.ptx);
  }
  std::string own = instruction_name(x);
  const std::string family(family_names[static_cast<std::size_t>(x.family)]);
  const std::string shape = shape_words(x);
  const std::string qualifiers = qualifiers_of(x);
  const std::string types = own.substr(family.size() + shape.size() + qualifiers.size());
  const bool narrow = x.kind == ScaledKind::none && (is_narrow(x.types.a) || is_narrow(x.types.b));
  const std::string rest = (narrow ? ".kind::f8f6f4" : "") + qualifiers + types;
  switch (x.family) {
    case Family::mma: return "mma.sync.aligned" + shape + ".row.col" + rest;
    case Family::mma_sp: return "mma.sp::ordered_metadata.sync.aligned" + shape + ".row.col" + rest;
    case Family::wmma: {
      const bool f16 = x.types.a == binary16;  // PTX then writes the types of d and c only
      const std::string d_c =
          "." + std::string(type_name(x.types.d)) + "." + std::string(type_name(x.types.c));
      return "wmma.mma.sync.aligned.row.col" + shape + qualifiers + (f16 ? d_c : types);
    }
    case Family::wgmma:
    case Family::wgmma_sp:
      return std::string("wgmma.mma_async") + (x.family == Family::wgmma_sp ? ".sp" : "") +
             ".sync.aligned" + shape + qualifiers + types;
    case Family::tcgen05:
    case Family::tcgen05_sp:
      return std::string("tcgen05.mma") + (x.family == Family::tcgen05_sp ? ".sp" : "") +
             ".cta_group::1" +
             (x.kind == ScaledKind::none ? ".kind::" + tcgen05_kind(x.types.a) : qualifiers);
  }
  return own;
}

std::vector<Instruction> instructions_of(int sm) {
  std::vector<Instruction> out;
  const Architecture* on = find_architecture(sm);
  const auto add = [&](const ShapeRow& row, int m, const DotTypes& types) {
    if (!takes(row, types.a, types.b, types.c, types.d)) return;
    if (row.addend != AddendRule::either && row.addend != AddendRule::narrower &&
        types.c != types.d) {
      return;
    }
    const auto found = find_instruction(row.family, sm, m, row.n_last, row.k, types, row.kind);
    const auto same = [&](const Instruction& x) {
      return x.family == found->family && x.m == found->m && x.k == found->k &&
             x.types == found->types && x.kind == found->kind;
    };
    if (found && std::ranges::none_of(out, same)) out.push_back(*found);
  };
  for (const ShapeRow& row : shape_rows) {
    if (on == nullptr || !has(*on, row)) continue;
    std::vector<int> ms{64, 128, 256};
    if (row.kind != ScaledKind::none) ms = {128, 256};
    if (row.m != 0) ms = {row.m};
    std::vector<Format> operands;
    for (const TypeName& type : type_names) {
      if (contains(row.operands, type.format)) operands.push_back(type.format);
    }
    for (const int m : ms) {
      for (const TypeName& d : type_names) {
        for (const TypeName& c : type_names) {
          for (const Format& a : operands) {
            for (const Format& b : operands) add(row, m, {a, b, c.format, d.format});
          }
        }
      }
    }
  }
  return out;
}

}  // namespace binade
