// SPDX-License-Identifier: Apache-2.0
//
// The PTX conversions from float32 that are checked on hardware, each beside the emulator's
// arguments that must give its bits. Plain C++: the table is tested without a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/project.h"

namespace binade {

/// Which wrapper of ptx_cvt.cuh. A kernel takes this, not a function pointer or a template
/// argument: one kernel serves all rows.
enum class Cvt : std::uint8_t {
  rn_f16_f32,
  rz_f16_f32,
  rm_f16_f32,
  rp_f16_f32,
  rn_satfinite_f16_f32,
  rz_satfinite_f16_f32,
  rn_bf16_f32,
  rz_bf16_f32,
  rn_satfinite_bf16_f32,
  rz_satfinite_bf16_f32,
  rna_tf32_f32,
  rna_satfinite_tf32_f32,
  rn_tf32_f32,
  rz_tf32_f32,
  rn_satfinite_tf32_f32,
  rz_satfinite_tf32_f32,
};

/// What an instruction makes of a NaN.
enum class NanOperand : std::uint8_t {
  canonical,  ///< the result is Attributes::nan
  /// cvt.rna.tf32 is no instruction of the silicon: ptxas 13.0 expands it, for sm_80, sm_90a and
  /// sm_100a alike, into: unless Inf or NaN, add 0x1000; clear the low 13 bits; with .satfinite,
  /// subtract 0x2000 from what then is Inf or NaN. So a NaN keeps its sign and its upper payload, one
  /// with payload only in the low 13 bits becomes Inf, and .satfinite takes NaNs one code down.
  /// Read off the SASS (cuda/README.md says how); PTX promises no more than "NaN".
  cut_like_a_number,
};

/// An instruction and the emulation of it. Kernels take it by value, both formats included: a
/// reference to a constexpr object of namespace scope is a host address, undefined in device code.
struct Conversion {
  Cvt instruction = Cvt::rn_f16_f32;
  Format to = binary16;
  Attributes attributes = {};
  NanOperand nan_operand = NanOperand::canonical;
  Format from = binary32;

  constexpr std::uint32_t emulate(std::uint32_t input) const {
    if (nan_operand == NanOperand::cut_like_a_number && is_nan(input, from)) {
      const std::uint32_t ulp = std::uint32_t{1} << to.padding_bits;
      const std::uint32_t cut = input & ~(ulp - 1);
      return attributes.saturation == Saturation::finite ? cut - ulp : cut;
    }
    return static_cast<std::uint32_t>(convert(input, from, to, attributes).bits);
  }

  static constexpr bool is_nan(std::uint32_t bits, const Format& f) {
    return kind_of(fields_of(bits, f), f) == Kind::nan;
  }
};

struct ConversionRow {
  std::string_view name;
  int compute_capability = 0;  ///< the lowest that has the instruction: 90 for sm_90
  Conversion conversion;
};

/// NanResult::nvidia: 0x7FFF; of tf32's 0x7FFFFFFF the bits above the padding.
constexpr Conversion plain(Cvt instruction, const Format& to, Rounding rounding) {
  const NanOperand nan =
      rounding == Rounding::ties_to_away ? NanOperand::cut_like_a_number : NanOperand::canonical;
  return {instruction, to, {.rounding = rounding, .nan = NanResult::nvidia}, nan, binary32};
}

constexpr Conversion satfinite(Cvt instruction, const Format& to, Rounding rounding) {
  Conversion conversion = plain(instruction, to, rounding);
  conversion.attributes.saturation = Saturation::finite;
  return conversion;
}

/// Capabilities: the lowest target that ptxas 13.0 accepts, of 80 and up.
constexpr std::array<ConversionRow, 16> conversion_rows() {
  using enum Cvt;
  using enum Rounding;
  return {{
      {"cvt.rn.f16.f32", 80, plain(rn_f16_f32, binary16, ties_to_even)},
      {"cvt.rz.f16.f32", 80, plain(rz_f16_f32, binary16, toward_zero)},
      {"cvt.rm.f16.f32", 80, plain(rm_f16_f32, binary16, toward_negative)},
      {"cvt.rp.f16.f32", 80, plain(rp_f16_f32, binary16, toward_positive)},
      {"cvt.rn.satfinite.f16.f32", 80, satfinite(rn_satfinite_f16_f32, binary16, ties_to_even)},
      {"cvt.rz.satfinite.f16.f32", 80, satfinite(rz_satfinite_f16_f32, binary16, toward_zero)},
      {"cvt.rn.bf16.f32", 80, plain(rn_bf16_f32, bfloat16, ties_to_even)},
      {"cvt.rz.bf16.f32", 80, plain(rz_bf16_f32, bfloat16, toward_zero)},
      {"cvt.rn.satfinite.bf16.f32", 80, satfinite(rn_satfinite_bf16_f32, bfloat16, ties_to_even)},
      {"cvt.rz.satfinite.bf16.f32", 80, satfinite(rz_satfinite_bf16_f32, bfloat16, toward_zero)},
      {"cvt.rna.tf32.f32", 80, plain(rna_tf32_f32, tf32, ties_to_away)},
      {"cvt.rna.satfinite.tf32.f32", 80, satfinite(rna_satfinite_tf32_f32, tf32, ties_to_away)},
      {"cvt.rn.tf32.f32", 90, plain(rn_tf32_f32, tf32, ties_to_even)},
      {"cvt.rz.tf32.f32", 90, plain(rz_tf32_f32, tf32, toward_zero)},
      {"cvt.rn.satfinite.tf32.f32", 100, satfinite(rn_satfinite_tf32_f32, tf32, ties_to_even)},
      {"cvt.rz.satfinite.tf32.f32", 100, satfinite(rz_satfinite_tf32_f32, tf32, toward_zero)},
  }};
}

inline constexpr std::array<ConversionRow, 16> conversions = conversion_rows();

}  // namespace binade
