// SPDX-License-Identifier: Apache-2.0
//
// Scale rules: how stacks get the scale of a block from its values, and what they do to the values
// before they round them. A rule is a value whose members are its steps; scale_rules.h has
// the table of them. Every step is an operation of binary32, rounded to nearest even, but for those
// that a stack computes in the dtype of its input (ScaleRule::steps). For a block of mxfp4 (m = 6,
// the largest number of e2m1, 2^2 its power of two) with amax 7.5:
//
//     ocp            exponent of 7.5, minus 2             2^(2-2) = 1     7.5 -> 6    saturated
//     torchao_even   7.5 to 2 digits, ties up: 8          2^(3-2) = 2     7.5 -> 4    (3.75 · 2 = 8)
//     torchao_rceil  7.5 · (1/6) = 1.25, exponent up      2^1 = 2
//
// block_quantize.h computes with these.
#pragma once

#include <cstdint>

#include "emulate/attributes.h"
#include "emulate/block.h"

namespace binade {

/// What is rounded to a scale: a is the amax of the block, m the largest number of the element
/// format, at the amax of the tensor, c the largest number of the scale's format (448). Each
/// operation is rounded to binary32 but where it says otherwise. a / m may be a product instead
/// (ScaleRule::by_reciprocal).
enum class Quotient : std::uint8_t {
  amax,           ///< a; the exponent of m is subtracted from that of the scale
  over_power,     ///< a / 2^p, the power of two not above m
  over_max,       ///< a / m
  max_over,       ///< m / a: what elements are multiplied by; the scale is its reciprocal
  max_over_wide,  ///< (1 / max(a, 1e-12)) · m in binary64, then rounded to binary32; as above
  // Under a scale of the tensor, S = m·c / at, by which elements are multiplied, or s = at / (m·c):
  encode_over_max,       ///< a · (S · (1/m))
  over_max_over,         ///< (a / m) / s
  over_product,          ///< a / (m · s); 1 in the place of 0
  share_of_max,          ///< ((a / m) · c) / (at / m); 1 in the place of a / m = 0
  max_encode,            ///< S · (a · (1/m))
  over_max_encode,       ///< (a / m) · S
  over_max_wide_encode,  ///< the same, where S = (1 / at) · (m·c), and 1 where that is infinite
};

/// How the quotient becomes a number of the scale's format.
enum class ScaleRounding : std::uint8_t {
  nearest,   ///< to nearest even; what is too large is the largest number
  down,      ///< toward zero: a power of two's exponent
  up,        ///< toward positive
  field_up,  ///< as `up` from the fields of binary32: any subnormal number gives 2^-126
  /// To the element format's precision, ties away, on the bits of binary32; then `down`.
  half_up,
  half_up_to_2,  ///< the same to a precision of 2, whatever the elements
  log2_up,       ///< ceil(log2(·)), where log2 is rounded to binary32 first
};

/// What elements are multiplied by, or divided by, before they are rounded.
enum class Factor : std::uint8_t {
  power,          ///< times 1/scale, a power of two
  power_or_zero,  ///< the same, and times 0 where the code of the scale is 0
  power_field,    ///< the same, and the scale of code 255 is an infinity, of which the inverse is 0
  power_to_infinity,  ///< the same as `power`, but code 255 is an infinity, too
  power_normal,       ///< the same as `power_to_infinity`, but code 0 is 2^-126, a normal number
  power_or_one,       ///< the same as `power`, but times 1 where the code of the scale is 0
  /// The same as `power`, but subnormal numbers are 0 (rcp.approx.ftz): 1/2^127, and the scale of
  /// code 0, of which the inverse is infinite; times 0 where the quotient is 0.
  power_flushed,
  over_scale,  ///< divided by the scale
  reciprocal,  ///< times 1 / scale, rounded
  encode,      ///< times the quotient (Quotient::max_over)
  // Under a scale of the tensor:
  reciprocal_of_product,  ///< times min(1 / (scale · (1/S)), the largest number of binary32)
  reciprocal_over_scale,  ///< times (1 / s) / scale
  over_product,           ///< divided by scale · s
  over_quotient,          ///< divided by scale / S
  /// Times 1 / (scale · (1/S)), reciprocals flushed; 0 where the code of the scale is 0,
  flushed_reciprocal,
  flushed_reciprocal_of_amax,      ///< or where a is 0,
  flushed_reciprocal_of_quotient,  ///< or where the quotient is
  /// Times min(S / scale, the largest number of bfloat16), rounded to bfloat16.
  bfloat16_quotient,
};

/// For FP4 under scales of e4m3: whether a block may take the scale under which its amax becomes 4,
/// 1.5 times that under which it becomes 6. It does where the sum of its errors is less: of their
/// magnitudes or of their squares, added one by one in binary32, of lines of 16 and then of these
/// in a tree. An error is element · scale · at / (m·c) - x, each step rounded, or, where it says
/// fast, element · scale - x · S.
enum class FourOrSix : std::uint8_t { six, magnitudes, squares, magnitudes_fast, squares_fast };

/// What a NaN is as an element of a format that has none. In one with NaNs it is the NaN whose
/// fraction bits are set, as of PTX: e5m2's 7F (torch on a CPU keeps the sign of the NaN, too).
enum class NanElement : std::uint8_t {
  largest,           ///< the largest number, positive (PTX cvt.satfinite)
  zero,              ///< a zero
  negative_largest,  ///< the most negative number, and in formats with NaN, too (a clamp by fmax)
  positive_largest,  ///< the largest number, and in formats with NaN, too (fmin, then fmax)
  payload,           ///< what the integer steps of torchao's cast make of the NaN's bits
};

/// The sign of an element that is zero.
enum class ZeroSign : std::uint8_t {
  kept,         ///< that of the operand
  of_negative,  ///< - for operands below zero, + for zeros
  minus_zero,   ///< - for zeros and NaNs, else that of the operand
  positive,     ///< +
};

/// How a scaled value becomes an element, where a rule says so.
struct ElementCast {
  Rounding ties = Rounding::ties_to_even;
  NanElement nan = NanElement::largest;
  ZeroSign zero = ZeroSign::kept;

  friend constexpr bool operator==(const ElementCast&, const ElementCast&) = default;
};

/// What becomes of the factor of Quotient::max_over and max_over_wide.
enum class FactorRounding : std::uint8_t {
  none,
  to_power,    ///< the power of two not above it: its exponent field
  log2_floor,  ///< 2^floor(log2(·)), where log2 is rounded to binary32 first
};

/// No code in particular: what the steps give.
inline constexpr int as_computed = -1;

struct ScaleRule {
  Quotient quotient = Quotient::amax;
  ScaleRounding rounding = ScaleRounding::down;
  Factor factor = Factor::power;
  /// A NaN among the values is their amax (torch.amax); else it is passed over (fmaxf).
  bool nan_is_amax = true;
  /// Operands and results of each operation of binary32 that are subnormal are zeros of their sign
  /// (PTX's .ftz; AMD's kernels by a flag of the compiler): amax, quotients, factors, numbers and
  /// scaled numbers, not what steps on bits give, nor the scale of the tensor, an input of the
  /// kernels. Rules that choose by FourOrSix do not.
  bool flushes = false;
  /// Bits of binary32: amax is at least this. 0: none.
  std::uint32_t least_amax = 0;
  /// Bits of binary32: the quotient is at least this. 0: no limit.
  std::uint32_t least_quotient = 0;
  int zero_code = as_computed;  ///< code of the scale where the steps give 0
  int first_code = 0;           ///< codes of scales are at least this,
  int last_code = 0xFF;         ///< and at most this, for scales of 8 bits
  int inf_code = as_computed;   ///< code of the scale where the quotient is infinite
  int nan_code = as_computed;   ///< where it is NaN
  /// For Quotient::max_over: where amax is 0, infinite or NaN the factor is 1, and an infinite one
  /// is the largest finite number of `steps`.
  bool one_if_unusable = false;
  FactorRounding factor_rounding = FactorRounding::none;
  /// S is the caller's, m·c / at whatever it is: infinite, 0 or NaN, too.
  bool encode_is_given = false;
  /// a / m, and at / (m·c) where nothing else is said, are products with a reciprocal, rounded:
  /// torch on CUDA divides a tensor by a number so.
  bool by_reciprocal = false;
  /// To this format are rounded: a / m, where Quotient says over_max or over_max_wide_encode, and
  /// of the latter 1/at and S; its largest number stands for an infinite factor under
  /// one_if_unusable. What NamedScaleRule::steps_of_input says.
  Format steps = binary32;
  /// The largest scale of a block that the scale of the tensor aims at; 0: the format's largest.
  int largest_scale = 0;
  FourOrSix four_or_six = FourOrSix::six;
  ElementCast cast{};

  friend constexpr bool operator==(const ScaleRule&, const ScaleRule&) = default;
};

/// Returns whether each step of a rule that flushes is one of those that are flushed.
constexpr bool can_flush(const ScaleRule& rule) {
  switch (rule.quotient) {
    case Quotient::amax:
    case Quotient::over_power:
    case Quotient::over_max:
    case Quotient::encode_over_max:
    case Quotient::max_encode:
      return rule.steps == binary32 && !rule.one_if_unusable && rule.factor != Factor::encode &&
             rule.four_or_six == FourOrSix::six;
    default: return false;
  }
}

}  // namespace binade
