// SPDX-License-Identifier: Apache-2.0
//
// PTX's scalar and packed floating-point instructions by their names, computed with the operations
// of operation.h: add, sub, mul, fma, min and max of f32, f16 and bf16, their x2 forms, and f32
// with 16-bit operands. The rules are those of the PTX ISA 9.0; where it is silent (the sign of a
// zero under .sat and .relu), those that cuda_fp16.hpp computes for GPUs that lack the instruction.
// An H100's results are equal (tests/recordings/sm_90/scalar). f64 is left out, because PTX does
// not say which NaNs it returns; .oob and the three-input min are left out too.
//
//     add.rn.f16x2 d, a, b        bits 31..16   15..0
//         a = 3E00 C000           lane 1: 1.5   lane 0: -2
//         b = 3C00 3C00                   1             1
//         d = 4100 BC00                   2.5          -1      each lane rounded by itself
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/compare.h"
#include "emulate/operation.h"
#include "emulate/sm_target.h"

namespace binade {

/// The first word of a name, and what it allows.
struct PtxOpcode {
  std::string_view name;     ///< "add"
  Operation operation;       ///< for add, sub, mul and fma; not used by min and max
  bool extremum, maximum;    ///< whether it is min or max, and whether it is max
  bool rounding_is_written;  ///< a name must have a rounding; else .rn is the default
  bool mixed;                ///< has forms with 16-bit operands and f32 result
};

inline constexpr std::array<PtxOpcode, 6> ptx_opcodes{{
    {"add", Operation::add, false, false, false, true},
    {"sub", Operation::subtract, false, false, false, true},
    {"mul", Operation::multiply, false, false, false, false},
    {"fma", Operation::multiply_add, false, false, true, true},
    {"min", Operation::add, true, false, false, false},
    {"max", Operation::add, true, true, false, false},
}};

/// The type at the end of a name (one word, or two as in "f32.f16"), and the qualifiers that PTX
/// allows with it.
struct PtxType {
  std::string_view name;
  Format operand, result;
  int lanes;      ///< results that are packed in d
  bool directed;  ///< .rz, .rm and .rp exist, not only .rn
  bool ftz, sat;
  bool relu;      ///< .relu exists for fma; it excludes .sat
  bool extremum;  ///< min and max exist, with .NaN and .xorsign.abs
};

inline constexpr std::array<PtxType, 8> ptx_types{{
    {"f32", binary32, binary32, 1, true, true, true, false, true},
    {"f32x2", binary32, binary32, 2, true, true, false, false, false},
    {"f16", binary16, binary16, 1, false, true, true, true, true},
    {"f16x2", binary16, binary16, 2, false, true, true, true, true},
    {"bf16", bfloat16, bfloat16, 1, false, false, false, true, true},
    {"bf16x2", bfloat16, bfloat16, 2, false, false, false, true, true},
    {"f32.f16", binary16, binary32, 1, true, false, true, false, false},
    {"f32.bf16", bfloat16, binary32, 1, true, false, true, false, false},
}};

/// How the exact result is clamped before it is rounded. The ends, 0 and 1, are numbers of every
/// format, so clamping after rounding would give the same.
enum class Clamp : std::uint8_t {
  none,
  zero_to_one,   ///< .sat: NaN, -0 and negative numbers become +0; more than 1 becomes 1
  not_negative,  ///< .relu: -0 and negative numbers become +0; a NaN stays
};

/// One instruction, as a value that can be passed to a kernel.
struct PtxScalar {
  Operation operation = Operation::add;
  bool extremum = false, maximum = false;  ///< as in PtxOpcode
  bool nan = false;          ///< .NaN: NaN if an operand is one; else a number is preferred
  bool xorsign_abs = false;  ///< magnitudes are compared; the sign is the xor of the signs
  Clamp clamp = Clamp::none;
  int operands = 2;
  int lanes = 1;
  OperandFormats from{};  ///< formats of a lane's operands; `to` is that of its result
  Format to{};
  Attributes attributes{.nan = NanResult::nvidia};
  SmTarget target{};  ///< the lowest target that has the instruction

  /// Returns the width of operand i with all its lanes, in bits.
  constexpr int operand_bits(std::size_t i) const { return lanes * from[i].storage_bits(); }
  constexpr int result_bits() const { return lanes * to.storage_bits(); }
};

/// Removes a word from the front of a name. Returns false, and changes nothing, if the name does
/// not begin with the word.
constexpr bool take_word(std::string_view& name, std::string_view word) {
  if (!name.starts_with(word)) return false;
  name.remove_prefix(word.size());
  return true;
}

/// Returns the lowest target for which ptxas 13.0 assembles an instruction; ptxas's own lowest is
/// sm_75.
constexpr SmTarget target_of(const PtxScalar& x) {
  if (x.from[0] != x.to || (x.to == binary32 && x.lanes > 1)) return {100};
  if (x.xorsign_abs) return {86};
  const bool fused = x.operation == Operation::multiply_add;
  if (x.to == bfloat16) return {fused || x.extremum ? 80 : 90};
  const bool since_80 = x.nan || (x.extremum && x.to == binary16) || x.clamp == Clamp::not_negative;
  return {since_80 ? 80 : 75};
}

/// Returns the instruction of an opcode, a type and qualifiers in PTX's order, such as ".rn.ftz".
/// Returns nothing if PTX has no such instruction.
constexpr std::optional<PtxScalar> qualified(const PtxOpcode& opcode, const PtxType& type,
                                             std::string_view qualifiers) {
  const bool mixed = type.operand != type.result;
  if ((opcode.extremum && !type.extremum) || (mixed && !opcode.mixed)) return std::nullopt;
  const bool fused = opcode.operation == Operation::multiply_add;
  PtxScalar out{.operation = opcode.operation,
                .extremum = opcode.extremum,
                .maximum = opcode.maximum,
                .operands = operand_count(opcode.operation),
                .lanes = type.lanes,
                .from = {type.operand, fused ? type.operand : type.result, type.result},
                .to = type.result};
  if (!opcode.extremum) {
    bool written = take_word(qualifiers, ".rn");
    for (const NamedRounding& row : roundings) {
      const bool directed = row.ptx == "rz" || row.ptx == "rm" || row.ptx == "rp";
      if (written || !type.directed || !directed) continue;
      std::string_view rest = qualifiers;
      if (!take_word(rest, ".") || !take_word(rest, row.ptx)) continue;
      out.attributes.rounding = row.rounding;
      qualifiers = rest;
      written = true;
    }
    if (opcode.rounding_is_written && !written) return std::nullopt;
  }
  if (type.ftz && take_word(qualifiers, ".ftz")) {
    out.attributes.flush_operands = out.attributes.flush_results = true;
  }
  if (opcode.extremum) {
    out.nan = take_word(qualifiers, ".NaN");
    out.xorsign_abs = take_word(qualifiers, ".xorsign.abs");
  } else if (type.sat && take_word(qualifiers, ".sat")) {
    out.clamp = Clamp::zero_to_one;
  } else if (type.relu && fused && take_word(qualifiers, ".relu")) {
    out.clamp = Clamp::not_negative;
  }
  out.target = target_of(out);
  return qualifiers.empty() ? std::optional(out) : std::nullopt;
}

/// Returns the instruction of a name, such as "fma.rn.ftz.relu.f16x2", "add.f32",
/// "min.NaN.xorsign.abs.bf16", "fma.rz.f32.f16"; nothing if PTX has no such instruction.
constexpr std::optional<PtxScalar> find_ptx_scalar(std::string_view name) {
  for (const PtxOpcode& opcode : ptx_opcodes) {
    std::string_view rest = name;
    if (!take_word(rest, opcode.name)) continue;
    for (const PtxType& type : ptx_types) {
      if (!rest.ends_with(type.name)) continue;
      std::string_view middle = rest.substr(0, rest.size() - type.name.size());
      if (!middle.ends_with('.')) continue;
      middle.remove_suffix(1);
      if (const auto found = qualified(opcode, type, middle)) return found;
    }
  }
  return std::nullopt;
}

/// Returns an exact number clamped.
constexpr Exact clamped(const Exact& x, Clamp clamp) {
  constexpr Exact one{.kind = Kind::finite, .significand = 1};
  constexpr Extremum maximum{{}, true, false, false};
  constexpr Extremum minimum{{}, false, false, false};
  if (clamp == Clamp::none) return x;
  if (x.kind == Kind::nan) return clamp == Clamp::zero_to_one ? zero_of(false) : x;
  const Exact positive = extremum(maximum, zero_of(false), x);
  return clamp == Clamp::zero_to_one ? extremum(minimum, one, positive) : positive;
}

/// Returns the exact result of one lane, clamped, before it is rounded. The operands are encodings
/// in the low bits.
constexpr Exact exact_lane(const PtxScalar& instruction, const Operands& bits) {
  Exact x[3];
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = decode_operand(bits[i], instruction.from[i], instruction.attributes);
  }
  if (!instruction.extremum) {
    const Rounding rounding = instruction.attributes.rounding;
    return clamped(compute(instruction.operation, x[0], x[1], x[2], rounding), instruction.clamp);
  }
  const bool negative = x[0].negative != x[1].negative;
  if (instruction.xorsign_abs) x[0].negative = x[1].negative = false;
  Exact chosen = extremum({{}, instruction.maximum, !instruction.nan, false}, x[0], x[1]);
  if (instruction.xorsign_abs) chosen.negative = negative;
  return chosen;
}

/// Returns one lane of each packed operand, in the low bits.
constexpr Operands lane_of(const PtxScalar& instruction, const Operands& bits, int lane) {
  Operands out{};
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = bits[i] >> (lane * instruction.from[i].storage_bits());
  }
  return out;
}

/// Returns the result with all its lanes, lane 0 in the lowest bits. A GPU has no exception flags,
/// so none are returned.
constexpr std::uint64_t compute(const PtxScalar& instruction, const Operands& bits) {
  std::uint64_t out = 0;
  for (int lane = 0; lane < instruction.lanes; ++lane) {
    const Exact exact = exact_lane(instruction, lane_of(instruction, bits, lane));
    out |= project(exact, instruction.to, instruction.attributes).bits
           << (lane * instruction.to.storage_bits());
  }
  return out;
}

}  // namespace binade
