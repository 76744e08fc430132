// SPDX-License-Identifier: Apache-2.0
//
// PTX's conversions between floating-point types by their exact names, from the rows of
// cvt_table.h. find_ptx_cvt returns the PtxCvt that `compute` (cvt_lane.h) evaluates. The parts of
// a name:
//
//     cvt  .rn        .satfinite  .e4m3x2      .f32
//          rounding   modifiers   result:      operands: a and b, one for each lane
//                                 2 lanes of 8 bits; a in bits 15 to 8, b in bits 7 to 0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "emulate/cvt_table.h"

namespace binade {

/// Removes the first word from a list whose words are separated by spaces, and returns it. The word
/// "-" stands for the empty word.
constexpr std::string_view next_word(std::string_view& list) {
  const std::size_t end = list.find(' ');
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  return word == "-" ? std::string_view() : word;
}

/// Calls visit(family, rounding, modifiers) for every instruction of a family.
template <class Visit>
constexpr void for_each_ptx_cvt(const CvtFamily& family, Visit visit) {
  for (std::string_view left = family.roundings; !left.empty();) {
    const std::string_view rounding = next_word(left);
    for (std::string_view modifiers = family.modifiers; !modifiers.empty();) {
      visit(family, rounding, next_word(modifiers));
    }
  }
}

/// Calls visit(family, rounding, modifiers) for every instruction of the table.
template <class Visit>
constexpr void for_each_ptx_cvt(Visit visit) {
  for (const CvtFamily& family : cvt_families) for_each_ptx_cvt(family, visit);
}

/// Sets what .ftz flushes: f32 operands and f32 results. In conversions to f16, ptxas 13.0 ignores
/// .ftz on all of sm_75 … sm_120a. That shows only in .rm and .rp, where a subnormal f32 becomes
/// f16's smallest subnormal although the PTX ISA says zero. The machine code that ptxas writes for
/// .ftz.f32.f64 detects tiny results after rounding.
constexpr void flush_f32(PtxCvt& cvt) {
  cvt.attributes.flush_operands = cvt.from == binary32 && cvt.to != binary16;
  cvt.attributes.flush_results = cvt.to == binary32;
}

/// Sets the random bits of .rs: PTX gives f16 13 of them per lane and the other types 16.
constexpr void draw_random_bits(PtxCvt& cvt) {
  cvt.attributes.random_bits = cvt.to == binary16 ? 13 : 16;
  cvt.random = cvt.lanes == 2   ? RandomLayout::halves
               : cvt.to == e2m1 ? RandomLayout::shared_bytes
                                : RandomLayout::shared_halves;
}

/// Returns the instruction of a family with one of its roundings and one of its modifiers, each as
/// PTX writes it (".rn", ".relu.satfinite") or empty.
constexpr PtxCvt ptx_cvt_of(const CvtFamily& family, std::string_view rounding,
                            std::string_view modifiers) {
  const CvtType from = find_cvt_type(family.from);
  const CvtType to = find_cvt_type(family.to);
  const auto has = [&](std::string_view word) {
    return modifiers.find(word) != std::string_view::npos;
  };
  PtxCvt out{.from = from.format, .to = to.format, .lanes = to.lanes};
  out.packed_source = from.lanes > 1;
  out.nan_operand = family.nan_operand;
  out.target = family.target;
  const bool on_hopper = has_instruction({.sm = 90, .suffix = 'a'}, family.target);
  out.evidence = on_hopper ? CvtEvidence::hardware : family.evidence;
  if (!rounding.empty()) out.attributes.rounding = *find_rounding(rounding.substr(1));
  if (has(".satfinite")) {
    out.attributes.saturation = Saturation::finite;
  } else if (has(".sat")) {
    out.clamp = Clamp::zero_to_one;
  }
  if (has(".relu")) out.clamp = Clamp::not_negative;
  if (has(".ftz")) flush_f32(out);
  // PTX: "NaN payloads are supported for double-precision instructions". An H100 keeps the sign and
  // the payload of an f64 NaN in every result type. With .ftz, an f32 NaN is made canonical before
  // it is widened to f64.
  if (out.to == binary64 || out.from == binary64) out.attributes.nan = NanResult::propagate;
  if (out.to == binary64 && has(".ftz") && out.clamp == Clamp::none) {
    out.nan_operand = NanOperand::canonical_first;
  }
  if (out.attributes.rounding == Rounding::stochastic) draw_random_bits(out);
  return out;
}

/// Removes a word from the end of a name. Returns false, and changes nothing, if the name does not
/// end with the word.
constexpr bool drop_word(std::string_view& name, std::string_view word) {
  if (!name.ends_with(word)) return false;
  name.remove_suffix(word.size());
  return true;
}

/// Finds an instruction by its name, with the qualifiers in the order in which the PTX ISA writes
/// them. Returns nothing for an unknown name, and for other orders of qualifiers, which ptxas
/// accepts too.
constexpr std::optional<PtxCvt> find_ptx_cvt(std::string_view name) {
  std::optional<PtxCvt> found;
  for (const CvtFamily& family : cvt_families) {
    std::string_view qualifiers = name;
    const bool types = drop_word(qualifiers, family.from) && drop_word(qualifiers, ".") &&
                       drop_word(qualifiers, family.to) && drop_word(qualifiers, ".");
    if (!types || !take_word(qualifiers, "cvt")) continue;
    for_each_ptx_cvt(
        family, [&](const CvtFamily& row, std::string_view rounding, std::string_view modifiers) {
          std::string_view rest = qualifiers;
          if (take_word(rest, rounding) && rest == modifiers) {
            found = ptx_cvt_of(row, rounding, modifiers);
          }
        });
  }
  return found;
}

}  // namespace binade
