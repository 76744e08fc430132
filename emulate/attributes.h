// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation (IEEE 754-2019 clause 4): how it rounds, what it does at the ends
// of the range, and which NaN it returns. Beside them stand the five exception flags that an
// operation returns. Attributes are arguments and flags are results; there is no global state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace binade {

/// The direction in which a number between two neighbours of a format is rounded. The table has the
/// result of each direction for four exact values, in units in the last place (ulp):
///
///     exact value        2.25    2.5     3.5    -2.25
///     ties_to_even       2       2       4      -2
///     ties_to_away       2       3       4      -2
///     ties_toward_zero   2       2       3      -2
///     toward_zero        2       2       3      -2
///     toward_positive    3       3       4      -2
///     toward_negative    2       2       3      -3
///     to_odd             3       3       3      -3
///     stochastic         3: 1/4  3: 1/2  4: 1/2 -3: 1/4   (probability of the larger magnitude)
///
/// What a direction does is written in rule_of.
enum class Rounding : std::uint8_t {
  ties_to_even,     ///< PTX .rn; at precision 1 a tie takes the larger magnitude
  ties_to_away,     ///< PTX .rna
  /// IEEE 754-2019 9.5, roundTiesTowardZero; quantizers of FP4 that compare with midpoints
  ties_toward_zero,
  toward_zero,      ///< PTX .rz
  toward_positive,  ///< PTX .rp
  toward_negative,  ///< PTX .rm
  to_odd,           ///< inexact results take the neighbour with an odd significand
  stochastic,       ///< PTX .rs; a magnitude whose discarded fraction of an ulp is f goes up with
                    ///< probability floor(f·2^n) / 2^n, n = Attributes::random_bits
};

/// How much must be cut off of a magnitude for its larger neighbour to be taken.
enum class Up : std::uint8_t { never, above_half, from_half, above_zero, drawn };

/// What a direction does to a positive and to a negative number, whose kept part is even or odd.
/// All that is computed of a direction follows from it: roundings of single numbers and of arrays,
/// what overflows give, and words.
struct RoundingRule {
  struct BySign {
    Up even, odd;
    friend constexpr bool operator==(const BySign&, const BySign&) = default;
  };
  BySign positive, negative;

  constexpr const BySign& of(bool is_negative) const { return is_negative ? negative : positive; }
  constexpr Up up(bool is_odd, bool is_negative) const {
    return is_odd ? of(is_negative).odd : of(is_negative).even;
  }
  /// Returns whether the nearer of the two neighbours is taken.
  constexpr bool is_to_nearest() const {
    const auto at_half = [](Up up) { return up == Up::above_half || up == Up::from_half; };
    return at_half(positive.even) && at_half(positive.odd) && at_half(negative.even) &&
           at_half(negative.odd);
  }
  friend constexpr bool operator==(const RoundingRule&, const RoundingRule&) = default;
};

constexpr RoundingRule rule_of(Rounding rounding) {
  const auto both = [](Up even, Up odd) { return RoundingRule{{even, odd}, {even, odd}}; };
  switch (rounding) {
    case Rounding::ties_to_even: return both(Up::above_half, Up::from_half);
    case Rounding::ties_to_away: return both(Up::from_half, Up::from_half);
    case Rounding::ties_toward_zero: return both(Up::above_half, Up::above_half);
    case Rounding::toward_zero: return both(Up::never, Up::never);
    case Rounding::toward_positive:
      return {{Up::above_zero, Up::above_zero}, {Up::never, Up::never}};
    case Rounding::toward_negative:
      return {{Up::never, Up::never}, {Up::above_zero, Up::above_zero}};
    case Rounding::to_odd: return both(Up::above_zero, Up::never);
    case Rounding::stochastic: return both(Up::drawn, Up::drawn);
  }
  return {};
}

/// What an infinity becomes (an infinite operand, a quotient by zero), and what an overflow
/// becomes, unless its rounding gives the largest finite number: toward_zero and to_odd always do,
/// toward_positive for negative numbers, and toward_negative for positive ones.
enum class Saturation : std::uint8_t {
  none,    ///< Inf if the format has it, else NaN; the largest finite number in FP6 and FP4, which
           ///< have neither
  finite,  ///< the largest finite number; PTX .satfinite
};

/// When a result counts as tiny, for the underflow flag and for flushing (IEEE 754-2019 7.5): if it
/// is below the smallest normal number once rounded to the precision, or before it is rounded.
enum class Tininess : std::uint8_t { after_rounding, before_rounding };

/// Which NaN an operation returns. In binary16, for the operand 0xFC01 (negative, signaling):
///
///     operand     1 11111 0000000001   0xFC01
///     quiet       0 11111 1000000000   0x7E00
///     nvidia      0 11111 1111111111   0x7FFF
///     propagate   1 11111 1000000001   0xFE01
enum class NanResult : std::uint8_t {
  quiet,  ///< positive, only the quiet bit of the fraction: 0x7E00, 0x7FC00000
  /// NVIDIA's NaN: positive, all fraction bits set: 0x7FFF, 0x7FFFFFFF. There are two exceptions in
  /// FP8 (cuda_fp8.hpp). In e4m3 a NaN that stands in the place of an infinity keeps its sign
  /// (0xFF). A NaN of a binary64 operand that is converted to FP8 keeps its sign and payload, as
  /// with propagate.
  nvidia,
  propagate,  ///< sign and leading payload bits of the operand, with the quiet bit set
};

/// How an operation rounds, what it flushes, and what it returns at the ends of the range.
struct Attributes {
  Rounding rounding = Rounding::ties_to_even;
  Saturation saturation = Saturation::none;
  bool flush_results = false;   ///< FTZ: a tiny result becomes a zero with its sign
  bool flush_operands = false;  ///< DAZ: a subnormal operand counts as a zero with its sign
  Tininess tininess = Tininess::after_rounding;
  NanResult nan = NanResult::quiet;
  int random_bits = 32;  ///< n of stochastic rounding: random bits per result, 1 to 32

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

/// A row of the table of roundings.
struct NamedRounding {
  std::string_view name;
  Rounding rounding;
  std::string_view ptx;        ///< PTX's qualifier without its dot; empty if PTX has none
  std::string_view testfloat;  ///< Berkeley TestFloat's name; empty if it has none
};

inline constexpr auto roundings = std::to_array<NamedRounding>({
    {"ties_to_even", Rounding::ties_to_even, "rn", "near_even"},
    {"ties_to_away", Rounding::ties_to_away, "rna", "near_maxMag"},
    {"ties_toward_zero", Rounding::ties_toward_zero, "", ""},
    {"toward_zero", Rounding::toward_zero, "rz", "minMag"},
    {"toward_positive", Rounding::toward_positive, "rp", "max"},
    {"toward_negative", Rounding::toward_negative, "rm", "min"},
    {"to_odd", Rounding::to_odd, "", "odd"},
    {"stochastic", Rounding::stochastic, "rs", ""},
});

/// Finds a rounding by its own name, PTX's or TestFloat's. Returns nothing if no row has the name.
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
