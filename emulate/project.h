// SPDX-License-Identifier: Apache-2.0
//
// The one place where bits are lost: project = round, saturate, encode. Every operation computes
// exactly (codec.h's Exact) and ends here, so each rounding, overflow and underflow rule is written
// once. IEEE 754-2019 4.3 (rounding), 7.4 and 7.5 (overflow, underflow); where the standard is
// silent, the comments say which rule is taken.
#pragma once

#include <cstdint>

#include "emulate/codec.h"

namespace binade {

/// A result: its encoding and the exceptions it raised.
struct Projected {
  std::uint64_t bits = 0;
  Flags flags = 0;

  friend constexpr bool operator==(const Projected&, const Projected&) = default;
};

/// A number of at most `precision` significand bits, the exponent still unbounded above.
struct Rounded {
  Kind kind = Kind::zero;
  bool negative = false;
  std::uint64_t significand = 0;  ///< finite: value = significand · 2^exponent
  int exponent = 0;
  std::uint64_t payload = 0;  ///< NaN: its fraction, left-aligned
  Flags flags = 0;
  bool for_infinity = false;  ///< NaN: in the place of an infinity, which the format lacks
};

/// The magnitude cut at weight 2^(exponent + drop).
///
///       significand  kkkk kkkk | h rrrr rrrr . sticky
///                    `- kept -'  `-- rest, h = half -'
struct Cut {
  std::uint64_t kept = 0;
  uint128 rest = 0;
  bool above_half = false;
  bool exactly_half = false;
  bool exact = true;
};

/// Cuts `drop` low bits (negative: nothing to cut, the significand is shifted up).
/// The kept part must fit 64 bits.
constexpr Cut cut(const Exact& x, int drop) {
  Cut out;
  if (drop <= 0) {
    out.kept = static_cast<std::uint64_t>(x.significand << -drop);
    return out;
  }
  out.rest = drop >= 128 ? x.significand : x.significand & ((uint128{1} << drop) - 1);
  out.kept = drop >= 128 ? 0 : static_cast<std::uint64_t>(x.significand >> drop);
  out.exact = out.rest == 0 && !x.sticky;
  if (drop <= 128) {
    const uint128 half = uint128{1} << (drop - 1);
    out.above_half = out.rest > half || (out.rest == half && x.sticky);
    out.exactly_half = out.rest == half && !x.sticky;
  }
  return out;
}

/// floor(f · 2^n) where f = rest / 2^drop, the discarded fraction of an ulp.
constexpr std::uint64_t discarded_fraction(const Cut& c, int drop, int n) {
  if (drop <= n) return static_cast<std::uint64_t>(c.rest << (n - drop));
  return drop - n >= 128 ? 0 : static_cast<std::uint64_t>(c.rest >> (drop - n));
}

/// Whether the magnitude rounds up at this cut. `odd`: the kept part is odd.
/// Stochastic: up iff floor(f 2^n) + r >= 2^n with r = the low n bits of `random`.
constexpr bool rounds_up(const Cut& c, int drop, bool odd, bool negative,
                         const Attributes& attributes, std::uint32_t random) {
  if (c.exact) return false;
  switch (attributes.rounding) {
    case Rounding::ties_to_even: return c.above_half || (c.exactly_half && odd);
    case Rounding::ties_to_away: return c.above_half || c.exactly_half;
    case Rounding::toward_zero: return false;
    case Rounding::toward_positive: return !negative;
    case Rounding::toward_negative: return negative;
    case Rounding::to_odd: return !odd;
    case Rounding::stochastic: {
      const int n = attributes.random_bits;
      const std::uint64_t one = std::uint64_t{1} << n;
      return discarded_fraction(c, drop, n) + (random & (one - 1)) >= one;
    }
  }
  return false;
}

/// Rounds a finite magnitude to `f.precision` bits with no lower or upper end of the exponent range
/// (quantum = the binade's own ulp) or, with `gradual`, no finer than the subnormal ulp.
constexpr Rounded round_finite(const Exact& x, const Format& f, const Attributes& attributes,
                               std::uint32_t random, bool gradual) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  const int floor_e = gradual && e < f.emin() ? f.emin() : e;
  const int quantum = floor_e - f.fraction_bits();
  const int drop = quantum - x.exponent;
  const Cut c = cut(x, drop);
  // At precision 1 (e8m0) both neighbours of a tie are odd; then the larger magnitude is taken
  // (754 4.3.1), as ml_dtypes does. P3109 and gfloat take the even encoding instead.
  const bool odd = (c.kept & 1) != 0;
  Rounded out{
      .kind = Kind::finite, .negative = x.negative, .significand = c.kept, .exponent = quantum};
  out.significand += rounds_up(c, drop, odd, x.negative, attributes, random) ? 1 : 0;
  if (out.significand >> f.precision != 0) {  // 11…1 + 1: the next binade, its low bit is zero
    out.significand >>= 1;
    out.exponent += 1;
  }
  out.flags = c.exact ? Flags{0} : Flag::inexact;
  return out;
}

/// Whether x is below the smallest normal number, by the chosen rule of 7.5: as it stands, or as
/// rounded to the precision with an unbounded exponent.
constexpr bool is_tiny(const Exact& x, const Format& f, const Attributes& attributes,
                       std::uint32_t random) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  if (e >= f.emin()) return false;
  if (e < f.emin() - 1 || attributes.tininess == Tininess::before_rounding) return true;
  const Rounded unbounded = round_finite(x, f, attributes, random, false);
  return unbounded.exponent + bit_width(unbounded.significand) - 1 < f.emin();
}

/// round: to the grid of the format, gradual underflow or flushed; the range above stays open.
constexpr Rounded round(const Exact& x, const Format& f, const Attributes& attributes,
                        std::uint32_t random) {
  const bool negative = x.negative && f.has_sign;
  if (x.kind != Kind::finite) {
    return {.kind = x.kind,
            .negative = negative,
            .payload = static_cast<std::uint64_t>(x.significand),
            .flags = x.signaling ? Flag::invalid : Flags{0}};
  }
  Exact magnitude = x;
  magnitude.negative = negative;
  const bool tiny = is_tiny(magnitude, f, attributes, random);
  if (tiny && (attributes.flush_results || !f.has_zero)) {
    return {
        .kind = Kind::zero, .negative = negative, .flags = Flags{Flag::inexact | Flag::underflow}};
  }
  Rounded out = round_finite(magnitude, f, attributes, random, true);
  if (tiny && (out.flags & Flag::inexact) != 0) out.flags |= Flag::underflow;
  if (out.significand == 0) out.kind = Kind::zero;
  return out;
}

/// Whether overflow under this rounding delivers the largest finite number (7.4): toward zero and
/// the inward directed mode. To odd does so by our choice: the largest finite is its odd neighbour.
constexpr bool overflows_to_max(Rounding rounding, bool negative) {
  return rounding == Rounding::toward_zero || rounding == Rounding::to_odd ||
         (rounding == Rounding::toward_negative && !negative) ||
         (rounding == Rounding::toward_positive && negative);
}

constexpr bool exceeds_range(const Rounded& x, const Format& f) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  return e > f.emax() || (e == f.emax() && x.significand > f.max_significand());
}

/// saturate: what leaves the range, and the specials the format lacks, become what the format has.
/// An overflow raises overflow and inexact, never invalid. An infinite operand is exact (6.1) and
/// raises nothing, also where it turns into NaN or the largest finite number.
constexpr Rounded saturate(Rounded x, const Format& f, const Attributes& attributes) {
  const Rounded max{.kind = Kind::finite,
                    .negative = x.negative,
                    .significand = f.max_significand(),
                    .exponent = f.emax() - f.fraction_bits(),
                    .flags = x.flags};
  const bool finite_end = attributes.saturation == Saturation::finite || !f.has_nan();
  if (x.kind == Kind::nan && !f.has_nan()) {
    Rounded positive_max = max;
    positive_max.negative = false;
    positive_max.flags |= Flag::invalid;
    return positive_max;
  }
  if (x.kind == Kind::finite && exceeds_range(x, f)) {
    x.flags |= Flag::overflow | Flag::inexact;
    if (finite_end || overflows_to_max(attributes.rounding, x.negative)) {
      Rounded out = max;
      out.flags = x.flags;
      return out;
    }
    x.kind = Kind::infinite;
  }
  if (x.kind == Kind::infinite) {
    if (finite_end) return max;
    x.for_infinity = !f.has_infinity();
    x.kind = x.for_infinity ? Kind::nan : Kind::infinite;
  }
  if (x.kind == Kind::zero && !f.has_zero) {  // e8m0: 0 becomes 2^-127 (NVIDIA's rule)
    return {.kind = Kind::finite,
            .negative = x.negative,
            .significand = std::uint64_t{1} << f.fraction_bits(),
            .exponent = f.quantum_exponent(),
            .flags = static_cast<Flags>(x.flags | Flag::inexact | Flag::underflow)};
  }
  return x;
}

/// encode: a number of the format, or a special it has, to bits.
constexpr std::uint64_t encode(const Rounded& x, const Format& f, NanResult nan) {
  switch (x.kind) {
    case Kind::zero: return zero_bits(f, x.negative);
    case Kind::infinite: return infinity_bits(f, x.negative);
    case Kind::nan: {
      // NVIDIA's header: without saturation -1000 becomes 0xFF in e4m3, a NaN 0x7F.
      const bool keeps_sign = x.for_infinity && nan == NanResult::nvidia;
      return nan_bits(f, keeps_sign ? NanResult::propagate : nan, x.negative, x.payload);
    }
    case Kind::finite: break;
  }
  const bool normal = (x.significand >> f.fraction_bits()) != 0;
  const int e = x.exponent + f.fraction_bits();
  const auto field = normal ? static_cast<std::uint64_t>(e + f.bias) : std::uint64_t{0};
  return bits_of({x.negative, field, x.significand & f.fraction_mask()}, f);
}

/// The nearest encoding of `x` by `attributes`, and the flags. `random`: the word stochastic
/// rounding draws its bits from.
constexpr Projected project(const Exact& x, const Format& f, const Attributes& attributes = {},
                            std::uint32_t random = 0) {
  const Rounded rounded = saturate(round(x, f, attributes, random), f, attributes);
  return {encode(rounded, f, attributes.nan), static_cast<Flags>(rounded.flags | x.flags)};
}

/// NVIDIA's header takes binary64 to FP8 without the way over binary32, on which NaNs lose their sign.
constexpr Attributes attributes_between(const Format& from, const Format& to,
                                        Attributes attributes) {
  if (attributes.nan == NanResult::nvidia && from == binary64 && to.storage_bits() == 8) {
    attributes.nan = NanResult::propagate;
  }
  return attributes;
}

/// Bits of one format to bits of another.
constexpr Projected convert(std::uint64_t bits, const Format& from, const Format& to,
                            const Attributes& attributes = {}, std::uint32_t random = 0) {
  return project(decode_operand(bits, from, attributes), to,
                 attributes_between(from, to, attributes), random);
}

}  // namespace binade
