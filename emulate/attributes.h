// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation (IEEE 754-2019 clause 4): how it rounds, what it does at the ends
// of the range, and which NaN it returns; and the five exception flags it answers with. All are
// arguments and results; there is no global state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace binade {

enum class Rounding : std::uint8_t {
  ties_to_even,     ///< PTX .rn; at precision 1 a tie takes the larger magnitude
  ties_to_away,     ///< PTX .rna
  toward_zero,      ///< PTX .rz
  toward_positive,  ///< PTX .rp
  toward_negative,  ///< PTX .rm
  to_odd,           ///< inexact results take the neighbour with an odd significand
  stochastic,       ///< up with probability floor(f 2^n) / 2^n (Attributes::random_bits); PTX .rs
};

/// What overflow and an infinite operand deliver.
enum class Saturation : std::uint8_t {
  none,  ///< Inf where the format has it, else NaN; FP6 and FP4, which have neither: largest finite
  finite,  ///< PTX .satfinite: the largest finite number
};

/// When a result counts as tiny, for the underflow flag and for flushing (IEEE 754-2019 7.5).
enum class Tininess : std::uint8_t { after_rounding, before_rounding };

enum class NanResult : std::uint8_t {
  quiet,  ///< positive, only the quiet bit: 0x7E00, 0x7FC00000
  /// NVIDIA's: positive, all fraction bits: 0x7FFF, 0x7FFFFFFF. In e4m3 (cuda_fp8.hpp) the NaN in the place of an
  /// infinity keeps its sign, 0xFF; of a binary64 operand that becomes FP8 so do NaNs, as with propagate.
  nvidia,
  propagate,  ///< sign and leading payload bits of the operand, made quiet
};

struct Attributes {
  Rounding rounding = Rounding::ties_to_even;
  Saturation saturation = Saturation::none;
  bool flush_results = false;   ///< FTZ: a tiny result becomes zero of its sign
  bool flush_operands = false;  ///< DAZ: a subnormal operand counts as zero of its sign
  Tininess tininess = Tininess::after_rounding;
  NanResult nan = NanResult::quiet;
  int random_bits = 32;  ///< n of stochastic rounding, 1..32

  friend constexpr bool operator==(const Attributes&, const Attributes&) = default;
};

/// Exception flags (IEEE 754-2019 clause 7), with the bit values of Berkeley TestFloat.
using Flags = std::uint8_t;
struct Flag {
  static constexpr Flags inexact = 1;
  static constexpr Flags underflow = 2;
  static constexpr Flags overflow = 4;
  static constexpr Flags divide_by_zero = 8;
  static constexpr Flags invalid = 16;
};

struct NamedRounding {
  std::string_view name;
  Rounding rounding;
  std::string_view ptx;
  std::string_view testfloat;  ///< Berkeley TestFloat's
};

inline constexpr std::array<NamedRounding, 7> roundings{{
    {"ties_to_even", Rounding::ties_to_even, "rn", "near_even"},
    {"ties_to_away", Rounding::ties_to_away, "rna", "near_maxMag"},
    {"toward_zero", Rounding::toward_zero, "rz", "minMag"},
    {"toward_positive", Rounding::toward_positive, "rp", "max"},
    {"toward_negative", Rounding::toward_negative, "rm", "min"},
    {"to_odd", Rounding::to_odd, "", "odd"},
    {"stochastic", Rounding::stochastic, "rs", ""},
}};

/// By its own name, PTX's or TestFloat's.
constexpr std::optional<Rounding> find_rounding(std::string_view name) {
  for (const NamedRounding& row : roundings) {
    const bool found = row.name == name || row.ptx == name || row.testfloat == name;
    if (!name.empty() && found) return row.rounding;
  }
  return std::nullopt;
}

constexpr std::string_view rounding_name(Rounding rounding) {
  return roundings[static_cast<std::size_t>(rounding)].name;
}

}  // namespace binade
