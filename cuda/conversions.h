// SPDX-License-Identifier: Apache-2.0
//
// The PTX conversions from float32 that are checked on hardware, each beside the row of emulate/cvt.h
// that must give its bits. Plain C++: the table is tested without a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/cvt.h"

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

/// A row of emulate/cvt.h's table and the wrapper that runs it. Kernels take it by value, both formats
/// included: a reference to a constexpr object of namespace scope is a host address, undefined in
/// device code.
struct Conversion : PtxCvt {
  Cvt instruction = Cvt::rn_f16_f32;

  constexpr std::uint32_t emulate(std::uint32_t input) const {
    return static_cast<std::uint32_t>(compute(*this, {input}));
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

/// The names are read when this is compiled: one that the table lacks does not compile.
constexpr ConversionRow conversion_row(Cvt instruction, std::string_view name) {
  const PtxCvt cvt = find_ptx_cvt(name).value();
  return {name, cvt.target.sm, {cvt, instruction}};
}

constexpr std::array<ConversionRow, 16> conversion_rows() {
  using enum Cvt;
  return {{
      conversion_row(rn_f16_f32, "cvt.rn.f16.f32"),
      conversion_row(rz_f16_f32, "cvt.rz.f16.f32"),
      conversion_row(rm_f16_f32, "cvt.rm.f16.f32"),
      conversion_row(rp_f16_f32, "cvt.rp.f16.f32"),
      conversion_row(rn_satfinite_f16_f32, "cvt.rn.satfinite.f16.f32"),
      conversion_row(rz_satfinite_f16_f32, "cvt.rz.satfinite.f16.f32"),
      conversion_row(rn_bf16_f32, "cvt.rn.bf16.f32"),
      conversion_row(rz_bf16_f32, "cvt.rz.bf16.f32"),
      conversion_row(rn_satfinite_bf16_f32, "cvt.rn.satfinite.bf16.f32"),
      conversion_row(rz_satfinite_bf16_f32, "cvt.rz.satfinite.bf16.f32"),
      conversion_row(rna_tf32_f32, "cvt.rna.tf32.f32"),
      conversion_row(rna_satfinite_tf32_f32, "cvt.rna.satfinite.tf32.f32"),
      conversion_row(rn_tf32_f32, "cvt.rn.tf32.f32"),
      conversion_row(rz_tf32_f32, "cvt.rz.tf32.f32"),
      conversion_row(rn_satfinite_tf32_f32, "cvt.rn.satfinite.tf32.f32"),
      conversion_row(rz_satfinite_tf32_f32, "cvt.rz.satfinite.tf32.f32"),
  }};
}

inline constexpr std::array<ConversionRow, 16> conversions = conversion_rows();

}  // namespace binade
