// SPDX-License-Identifier: Apache-2.0
//
// The table of PTX's conversions between floating-point types. Each row is a family of qualifiers,
// because not every combination of them exists. The table holds what ptxas 13.0 assembles at PTX
// ISA 9.0, no more and no less; tests/cuda/cvt_names_test.py compares it with ptxas. Rounding to
// integral values (.rni …) and conversions from and to integers are left out.
#pragma once

#include <array>
#include <string_view>

#include "emulate/cvt_lane.h"

namespace binade {

/// A type as `cvt` names it: `lanes` numbers of a format, packed.
struct CvtType {
  std::string_view name;
  Format format;
  int lanes;
};

inline constexpr std::array<CvtType, 18> cvt_types{{
    {"f16", binary16, 1},
    {"bf16", bfloat16, 1},
    {"tf32", tf32, 1},
    {"f32", binary32, 1},
    {"f64", binary64, 1},
    {"f16x2", binary16, 2},
    {"bf16x2", bfloat16, 2},
    {"e4m3x2", e4m3, 2},
    {"e5m2x2", e5m2, 2},
    {"e2m3x2", e2m3, 2},
    {"e3m2x2", e3m2, 2},
    {"e2m1x2", e2m1, 2},
    {"ue8m0x2", e8m0, 2},
    {"e4m3x4", e4m3, 4},
    {"e5m2x4", e5m2, 4},
    {"e2m3x4", e2m3, 4},
    {"e3m2x4", e3m2, 4},
    {"e2m1x4", e2m1, 4},
}};

/// Returns the row of a name; without one a CvtType whose name is empty.
constexpr CvtType find_cvt_type(std::string_view name) {
  for (const CvtType& type : cvt_types) {
    if (type.name == name) return type;
  }
  return {};
}

/// The instructions cvt{rounding}{modifiers}.to.from, for each of the roundings with each of the
/// modifiers. Both are lists whose words are separated by spaces; "-" stands for an empty word.
struct CvtFamily {
  std::string_view roundings;
  std::string_view modifiers;
  std::string_view to, from;
  SmTarget target;  ///< the lowest target that has the instructions
  CvtEvidence evidence;
  NanOperand nan_operand = NanOperand::canonical;
};

constexpr auto make_cvt_families() {
  using enum CvtEvidence;
  using enum NanOperand;
  // sm_75 is the lowest target that ptxas 13.0 knows; PTX had most of its rows on earlier targets.
  constexpr SmTarget sm_75{75}, sm_80{80}, sm_89{89}, sm_90{90}, sm_100{100}, sm_100f{100, 'f'},
      sm_100a{100, 'a'};
  constexpr std::string_view ieee = ".rn .rz .rm .rp";
  constexpr std::string_view ieee_or_none = "- .rn .rz .rm .rp";
  return std::to_array<CvtFamily>({
      // Scalars. .ftz concerns only operands and results of type f32.
      {ieee, "-", "f16", "f32", sm_75, host_headers},
      {ieee, ".ftz", "f16", "f32", sm_75, machine_code},
      {ieee, ".sat .ftz.sat", "f16", "f32", sm_75, open},
      {".rn .rz", ".satfinite", "f16", "f32", sm_75, documented},
      {".rn .rz", ".relu .relu.satfinite", "f16", "f32", sm_80, open},
      {".rn", "-", "f16", "f64", sm_75, host_headers},
      {".rz .rm .rp", "-", "f16", "f64", sm_75, documented},
      {ieee, ".sat", "f16", "f64", sm_75, open},
      {"-", "-", "f16", "f16", sm_75, machine_code},  // ptxas adds -0, so a NaN becomes canonical
      {"-", ".sat", "f16", "f16", sm_75, open},
      {ieee, "-", "f16", "bf16", sm_90, documented},
      {"-", "-", "f16", "bf16", sm_90, machine_code},  // the machine code of .rn
      {ieee, "-", "bf16", "f32", sm_80, host_headers},
      {ieee, ".ftz", "bf16", "f32", sm_80, documented},
      {".rn .rz", ".satfinite", "bf16", "f32", sm_80, documented},
      {".rn .rz", ".relu .relu.satfinite", "bf16", "f32", sm_80, open},
      {".rn", "-", "bf16", "f64", sm_90, host_headers},
      {".rz .rm .rp", "-", "bf16", "f64", sm_90, documented},
      {ieee, "-", "bf16", "f16", sm_90, documented},
      {"-", "-", "bf16", "f16", sm_90, machine_code},
      {"-", "-", "bf16", "bf16", sm_90, machine_code},
      {"-", "-", "f32", "f32", sm_75, machine_code, kept},
      {"-", ".ftz .sat .ftz.sat", "f32", "f32", sm_75, machine_code},
      {"-", "-", "f32", "f16", sm_75, host_headers},
      {"-", ".ftz .sat .ftz.sat", "f32", "f16", sm_75, machine_code},
      {"-", "-", "f32", "bf16", sm_80, host_headers, kept},
      {ieee, "-", "f32", "bf16", sm_80, machine_code, kept},
      {ieee_or_none, ".ftz", "f32", "bf16", sm_90, documented},
      {ieee, "-", "f32", "f64", sm_75, documented},
      {ieee, ".ftz .sat .ftz.sat", "f32", "f64", sm_75, machine_code},
      {"-", "-", "f64", "f64", sm_75, machine_code, kept},
      {"-", ".sat", "f64", "f64", sm_75, documented},
      {"-", "- .ftz", "f64", "f32", sm_75, open},
      {"-", ".sat .ftz.sat", "f64", "f32", sm_75, documented},
      {"-", "-", "f64", "f16", sm_75, open},
      {"-", ".sat", "f64", "f16", sm_75, documented},
      {ieee_or_none, "-", "f64", "bf16", sm_90, open},
      {".rna", "- .satfinite", "tf32", "f32", sm_80, machine_code, cut_like_a_number},
      {".rn .rz", "-", "tf32", "f32", sm_90, documented},
      {".rn .rz", ".relu", "tf32", "f32", sm_90, open},
      {".rn .rz", ".satfinite", "tf32", "f32", sm_100, documented},
      {".rn .rz", ".satfinite.relu", "tf32", "f32", sm_100, open},
      // Two lanes of 16 bits.
      {".rn", "-", "f16x2", "f32", sm_80, host_headers},
      {".rz", "-", "f16x2", "f32", sm_80, documented},
      {".rn .rz", ".satfinite", "f16x2", "f32", sm_80, documented},
      {".rn .rz", ".relu .relu.satfinite", "f16x2", "f32", sm_80, open},
      {".rn", "-", "bf16x2", "f32", sm_80, host_headers},
      {".rz", "-", "bf16x2", "f32", sm_80, documented},
      {".rn .rz", ".satfinite", "bf16x2", "f32", sm_80, documented},
      {".rn .rz", ".relu .relu.satfinite", "bf16x2", "f32", sm_80, open},
      {".rs", "- .relu .satfinite .relu.satfinite", "f16x2", "f32", sm_100a, open},
      {".rs", "- .relu .satfinite .relu.satfinite", "bf16x2", "f32", sm_100a, open},
      // FP8, FP6 and FP4.
      {".rn", ".satfinite", "e4m3x2", "f32", sm_89, host_headers},
      {".rn", ".satfinite.relu", "e4m3x2", "f32", sm_89, open},
      {".rn", ".satfinite", "e5m2x2", "f32", sm_89, host_headers},
      {".rn", ".satfinite.relu", "e5m2x2", "f32", sm_89, open},
      {".rn", ".satfinite", "e4m3x2", "f16x2", sm_89, host_headers},
      {".rn", ".satfinite.relu", "e4m3x2", "f16x2", sm_89, open},
      {".rn", ".satfinite", "e5m2x2", "f16x2", sm_89, host_headers},
      {".rn", ".satfinite.relu", "e5m2x2", "f16x2", sm_89, open},
      {".rn", ".satfinite", "e2m3x2", "f32", sm_100f, host_headers},
      {".rn", ".satfinite.relu", "e2m3x2", "f32", sm_100f, open},
      {".rn", ".satfinite", "e3m2x2", "f32", sm_100f, host_headers},
      {".rn", ".satfinite.relu", "e3m2x2", "f32", sm_100f, open},
      {".rn", ".satfinite", "e2m1x2", "f32", sm_100f, host_headers},
      {".rn", ".satfinite.relu", "e2m1x2", "f32", sm_100f, open},
      // This row is of PTX ISA 9.1. ptxas 13.0 assembles it at .version 9.0 already, but not the
      // same conversions to FP6.
      {".rn", ".satfinite", "e2m1x2", "f16x2", sm_100f, host_headers},
      {".rn", ".satfinite.relu", "e2m1x2", "f16x2", sm_100f, open},
      {".rn", "-", "f16x2", "e4m3x2", sm_89, host_headers},
      {".rn", ".relu", "f16x2", "e4m3x2", sm_89, open},
      {".rn", "-", "f16x2", "e5m2x2", sm_89, host_headers},
      {".rn", ".relu", "f16x2", "e5m2x2", sm_89, open},
      {".rn", "-", "f16x2", "e2m3x2", sm_100f, host_headers},
      {".rn", ".relu", "f16x2", "e2m3x2", sm_100f, open},
      {".rn", "-", "f16x2", "e3m2x2", sm_100f, host_headers},
      {".rn", ".relu", "f16x2", "e3m2x2", sm_100f, open},
      {".rn", "-", "f16x2", "e2m1x2", sm_100f, host_headers},
      {".rn", ".relu", "f16x2", "e2m1x2", sm_100f, open},
      {".rs", ".satfinite .relu.satfinite", "e4m3x4", "f32", sm_100a, open},
      {".rs", ".satfinite .relu.satfinite", "e5m2x4", "f32", sm_100a, open},
      {".rs", ".satfinite .relu.satfinite", "e2m3x4", "f32", sm_100a, open},
      {".rs", ".satfinite .relu.satfinite", "e3m2x4", "f32", sm_100a, open},
      {".rs", ".satfinite .relu.satfinite", "e2m1x4", "f32", sm_100a, open},
      // Scales of blocks.
      {".rz .rp", "- .satfinite", "ue8m0x2", "f32", sm_100f, host_headers},
      {".rz .rp", "- .satfinite", "ue8m0x2", "bf16x2", sm_100f, host_headers},
      {".rn", "-", "bf16x2", "ue8m0x2", sm_100f, host_headers},
  });
}

inline constexpr auto cvt_families = make_cvt_families();

}  // namespace binade
