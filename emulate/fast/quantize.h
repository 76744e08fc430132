// SPDX-License-Identifier: Apache-2.0
//
// `quantize` of emulate/quantize.h, equal bit for bit and count for count, in two forms: of arrays
// by tiles, and of one float (`quantized`), for GPUs and for single values. The latter is a few
// integer operations without branches on the data, for formats that have a zero and whose normal
// numbers are normal floats. It adds a number to the fraction that is cut off, so that a carry
// rounds the kept part up:
//
//     significand << 32 >> drop     kkkk kkkk . ffff ffff ffff ffff ffff ffff ffff ffff
//     1.013671875 to bfloat16       1000 0001 . 1100 0000 0000 0000 0000 0000 0000 0000    drop = 16
//     increment, ties to even                   0111 1111 1111 1111 1111 1111 1111 1111    and 1, since k is odd
//     sum                           1000 0010 . 0100 …                                     kept: 1.015625
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/quantize.h"

namespace binade::fast {

/// What happened to one element: four bytes, each 0 or 1. The words of up to 255 elements may be
/// added; each byte of the sum is a count.
struct QuantizeEvent {
  static constexpr std::uint32_t to_zero = 1;
  static constexpr std::uint32_t subnormal = 1U << 8;
  static constexpr std::uint32_t overflow = 1U << 16;
  static constexpr std::uint32_t inexact = 1U << 24;
};

/// The numbers that a Quantizer stands for. A magnitude is given as the bits of a float without its
/// sign, which are ordered as the numbers are. Arrays of two hold the entry for positive operands
/// and the one for negative operands.
struct QuantizePlan {
  Quantizer to;
  bool known = false;      ///< false: only `to` and `stochastic` are set; the definition does it
  int precision_drop = 0;  ///< bits that normal results lose: 24 - p
  int quantum_drop = 0;    ///< this - a float's exponent field: its bits below the quantum
  int most_drop = 32;      ///< limit of a drop; a larger one would change no result
  std::uint32_t flushed_below = 0;  ///< DAZ: the smallest normal number of the operands' format
  std::uint32_t quantum = 0;
  std::uint32_t min_normal = 0;
  std::uint32_t max = 0;
  /// Added to the fraction that is cut off, in units of 2^-32 ulp; a carry rounds up.
  std::array<std::uint32_t, 2> increment{};
  std::uint32_t odd = 0;                    ///< 1: one more, modulo 2^32, if the kept part is odd
  std::array<std::uint32_t, 2> overflow{};  ///< result of a number beyond the range
  std::array<std::uint32_t, 2> infinity{};  ///< result of an infinity
  std::uint32_t nan = 0;        ///< result of a NaN, to which operand & nan_kept is joined by "or"
  std::uint32_t nan_kept = 0;   ///< mask of the bits that a NaN operand hands on to the result
  std::uint32_t sign = 0;       ///< mask of the sign that nonzero results keep
  std::uint32_t zero_sign = 0;  ///< mask of the sign that zeros keep
  bool stochastic = false;
  bool flush_results = false, before_rounding = false;
};

namespace detail {

/// Returns the bits of the float 2^e, -149 <= e <= 127.
constexpr std::uint32_t power_of_two_bits(int e) {
  return e >= -126 ? static_cast<std::uint32_t>(e + 127) << 23 : 1U << (e + 149);
}

/// What a rounding adds to the cut fraction of positive and of negative numbers, and QuantizePlan's
/// `odd`.
struct Increments {
  std::uint32_t positive, negative, odd;
  bool known;  ///< an odd kept part asks for as much, or for one more, whatever the sign
};

constexpr std::uint32_t increment_of(Up up) {
  switch (up) {
    case Up::never: return 0;
    case Up::above_half: return 0x7FFFFFFF;
    case Up::from_half: return 0x80000000;
    case Up::above_zero: return 0xFFFFFFFF;
    case Up::drawn: break;  // the random word
  }
  return 0;
}

constexpr Increments increments_of(Rounding rounding) {
  const RoundingRule rule = rule_of(rounding);
  const std::uint32_t positive = increment_of(rule.positive.even);
  const std::uint32_t negative = increment_of(rule.negative.even);
  const std::uint32_t odd = increment_of(rule.positive.odd) - positive;
  const bool known = odd <= 1 && odd == increment_of(rule.negative.odd) - negative;
  return {positive, negative, odd, known};
}

}  // namespace detail

constexpr QuantizePlan quantize_plan(const Quantizer& to) {
  const Format& f = to.format;
  const Attributes& attributes = to.attributes;
  QuantizePlan out{.to = to, .stochastic = attributes.rounding == Rounding::stochastic};
  const detail::Increments add = detail::increments_of(attributes.rounding);
  out.known = add.known && fits_in(f, binary32) && f.has_zero && f.emin() >= binary32.emin();
  if (!out.known) return out;
  out.precision_drop = 24 - f.precision;
  out.quantum_drop = f.quantum_exponent() + 150;
  out.most_drop = out.stochastic ? 56 : 32;
  out.flushed_below =
      attributes.flush_operands ? first_normal<float>(operand_format<float>(to)) : 0;
  out.quantum = detail::power_of_two_bits(f.quantum_exponent());
  out.min_normal = detail::power_of_two_bits(f.emin());
  out.max = static_cast<std::uint32_t>(bits_of(value_of<float>(max_bits(f, false), f)));
  // At precision 1 every kept part is odd, so that a tie takes the larger magnitude, as it must.
  out.increment = {add.positive, f.has_sign ? add.negative : add.positive};
  out.odd = add.odd;
  const auto result_of = [&to](const Exact& x) {
    const std::uint64_t bits = project(x, to.format, to.attributes).bits;
    return static_cast<std::uint32_t>(bits_of(value_of<float>(bits, to.format)));
  };
  for (const bool negative : {false, true}) {
    const std::size_t at = negative ? 1 : 0;
    out.overflow[at] = result_of({Kind::finite, negative, false, false, 1 << 10, 1});
    out.infinity[at] = result_of({Kind::infinite, negative});
  }
  out.nan = result_of({Kind::nan});
  out.sign = f.has_sign ? 0x80000000 : 0;
  out.zero_sign = f.has_negative_zero() ? 0x80000000 : 0;
  // The only NaN of a fnuz format keeps neither sign nor payload; a nan_only format's NaNs have
  // signs, but no payload.
  if (attributes.nan == NanResult::propagate && f.specials != Specials::fnuz && f.has_nan()) {
    const std::uint32_t payload = 0x007FFFFFU >> out.precision_drop << out.precision_drop;
    out.nan_kept = out.sign | (f.specials == Specials::ieee ? payload : 0);
  }
  out.flush_results = attributes.flush_results;
  out.before_rounding = attributes.tininess == Tininess::before_rounding;
  return out;
}

struct Quantized {
  std::uint32_t bits = 0;    ///< the result, a float
  std::uint32_t events = 0;  ///< bytes of QuantizeEvent
};

namespace detail {

/// Returns significand / 2^drop as an integer, rounded by the increment.
constexpr std::uint32_t rounded_shift(std::uint32_t significand, int drop, std::uint32_t increment,
                                      std::uint32_t odd) {
  const std::uint64_t cut = (std::uint64_t{significand} << 32) >> drop;  // kept . fraction
  increment += static_cast<std::uint32_t>(cut >> 32) & odd;
  return static_cast<std::uint32_t>((cut + increment) >> 32);
}

/// Returns whether a magnitude below the smallest normal number counts as tiny (project.h,
/// is_tiny).
constexpr bool is_tiny(std::uint32_t magnitude, std::uint32_t increment, const QuantizePlan& to) {
  if (to.before_rounding) return true;
  // From half the smallest normal number on, the magnitude is tiny if it stays below that number
  // when it is rounded to the precision, as if exponents had no lower bound.
  const bool normal = magnitude >= 0x00800000;
  const std::uint32_t significand = normal ? (magnitude & 0x007FFFFF) | 0x00800000 : magnitude << 1;
  const std::uint32_t half = normal ? to.min_normal - 0x00800000 : to.min_normal >> 1;
  if (magnitude < half) return true;
  const int p = 24 - to.precision_drop;
  return rounded_shift(significand, to.precision_drop, increment, to.odd) >> p == 0;
}

}  // namespace detail

constexpr bool is_nan_or_infinity(std::uint32_t float_bits) {
  return (float_bits & 0x7FFFFFFF) >= 0x7F800000;
}
constexpr bool is_nan(std::uint32_t float_bits) { return (float_bits & 0x7FFFFFFF) > 0x7F800000; }

/// Returns whether a NaN, the bits of a float, raises invalid when it is rounded to a format.
constexpr bool nan_is_invalid(std::uint32_t float_bits, const Format& to) {
  const bool is_signaling = (float_bits & 0x00400000) == 0;
  return is_signaling || !to.has_nan();
}

/// Quantizes one float, given as bits, under a plan that is `known`. `random` is the word that
/// stochastic rounding uses. A NaN or an infinity has no events. `finite` promises that the operand
/// is neither.
template <bool finite = false>
constexpr Quantized quantized(std::uint32_t bits, std::uint32_t random, const QuantizePlan& to) {
  const std::uint32_t operand = bits & 0x7FFFFFFF;
  const bool negative = bits >> 31 != 0;
  const std::uint32_t magnitude = operand < to.flushed_below ? 0 : operand;
  // The float is significand · 2^(field - 150); the field of a subnormal float counts as 1.
  const std::uint32_t top = magnitude >> 23;
  const auto field = static_cast<std::int32_t>(top > 1 ? top : 1);
  const std::uint32_t base = static_cast<std::uint32_t>(field - 1) << 23;
  const int above = to.quantum_drop - field;
  const int at_least = above > to.precision_drop ? above : to.precision_drop;
  const int drop = at_least < to.most_drop ? at_least : to.most_drop;
  const std::uint32_t increment = to.stochastic ? random << (32 - to.to.attributes.random_bits)
                                  : negative    ? to.increment[1]
                                                : to.increment[0];
  const std::uint32_t kept = detail::rounded_shift(magnitude - base, drop, increment, to.odd);
  // A carry out of the fraction goes on into the exponent field. Where all bits are cut off (drop
  // >= 24), the result is zero or the quantum.
  std::uint32_t out = drop < 24 ? base + (kept << (drop & 31)) : kept != 0 ? to.quantum : 0;
  if (to.flush_results && magnitude < to.min_normal && detail::is_tiny(magnitude, increment, to)) {
    out = 0;
  }
  const bool overflow = out > to.max;
  Quantized result;
  result.events += out == 0 && operand != 0 ? QuantizeEvent::to_zero : 0;
  result.events += out - 1 < to.min_normal - 1 ? QuantizeEvent::subnormal : 0;
  result.events += overflow ? QuantizeEvent::overflow : 0;
  result.events += overflow || out != operand ? QuantizeEvent::inexact : 0;
  result.bits = out | (bits & (out == 0 ? to.zero_sign : to.sign));
  if (overflow) result.bits = negative ? to.overflow[1] : to.overflow[0];
  if (!finite && operand >= 0x7F800000) {
    const std::uint32_t infinity = negative ? to.infinity[1] : to.infinity[0];
    result = {operand == 0x7F800000 ? infinity : to.nan | (bits & to.nan_kept), 0};
  }
  return result;
}

/// Adds one element, with its operand's bits and its events, to the counts.
constexpr void count_events(std::uint32_t bits, std::uint32_t events, const QuantizePlan& to,
                            EventCounts& counts) {
  const std::uint64_t overflow = events >> 16 & 1;
  counts.values += 1;
  counts.nan_in += is_nan(bits) ? 1 : 0;
  counts.inf_in += (bits & 0x7FFFFFFF) == 0x7F800000 ? 1 : 0;
  counts.invalid += is_nan(bits) && nan_is_invalid(bits, to.to.format) ? 1 : 0;
  counts.to_zero += events & 1;
  counts.subnormal += events >> 8 & 1;
  counts.overflow += overflow;
  counts.saturated += to.to.attributes.saturation == Saturation::finite ? overflow : 0;
  counts.inexact += events >> 24;
}

/// Quantizes n values tile after tile (quantize_tile.h); in[0] is element `first` of its stream of
/// random words. `out` may be `in`. Adds to `counts`.
void quantize(const float* in, float* out, std::size_t n, std::uint64_t first, const Quantizer& to,
              EventCounts& counts);
void quantize(const double* in, double* out, std::size_t n, std::uint64_t first,
              const Quantizer& to, EventCounts& counts);

}  // namespace binade::fast
