// SPDX-License-Identifier: Apache-2.0
//
// The one place where bits are lost: project = round, saturate, encode. Every operation computes
// exactly (codec.h's Exact) and ends here, so each rounding, overflow and underflow rule is written
// once. IEEE 754-2019 4.3 (rounding), 7.4 and 7.5 (overflow, underflow); where the standard is
// silent, the comments say which rule is taken. 500 into e4m3, to nearest even:
//
//     exact      1.11110100 · 2^8
//     round      1.111|10100 · 2^8 -> 1.000 · 2^9 = 512, and the flag inexact
//     saturate   512 > 448: NaN, or 448 under Saturation::finite; and the flag overflow
//     encode     0 1111 111 = 7F, or 0 1111 110 = 7E
#pragma once

#include <cstdint>

#include "emulate/codec.h"

namespace binade {

/// A result: its encoding and the exception flags that it raised.
struct Projected {
  std::uint64_t bits = 0;
  Flags flags = 0;

  friend constexpr bool operator==(const Projected&, const Projected&) = default;
};

/// A number of at most `precision` significand bits, whose exponent is not bounded above yet.
struct Rounded {
  Kind kind = Kind::zero;
  bool negative = false;
  std::uint64_t significand = 0;  ///< finite: value = significand · 2^exponent
  int exponent = 0;
  std::uint64_t payload = 0;  ///< NaN: its fraction, left-aligned in 64 bits
  Flags flags = 0;
  bool for_infinity = false;  ///< NaN in the place of an infinity, which the format lacks
};

/// A magnitude, cut at weight 2^(exponent + drop); -48185346 · 2^-24 (operation.h) with drop = 15:
///
///       significand  10110111110 | 1 00000000000010 . sticky
///                    `-- kept --'  `--- rest -----'      half an ulp is 1 00000000000000
struct Cut {
  std::uint64_t kept = 0;
  uint128 rest = 0;
  bool above_half = false;
  bool exactly_half = false;
  bool exact = true;
};

/// Cuts `drop` low bits; a negative one shifts up, regardless of sticky. 64 bits must hold `kept`.
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

/// Returns floor(f · 2^n), where f = rest / 2^drop is the discarded fraction of an ulp.
constexpr std::uint64_t discarded_fraction(const Cut& c, int drop, int n) {
  if (drop <= n) return static_cast<std::uint64_t>(c.rest << (n - drop));
  return drop - n >= 128 ? 0 : static_cast<std::uint64_t>(c.rest >> (drop - n));
}

/// Returns whether a cut magnitude rounds up; `odd`: the kept part is odd. Stochastic rounding goes
/// up iff floor(f · 2^n) + r >= 2^n: f is rest / 2^drop, n random_bits, and r the low n bits of
/// `random`.
constexpr bool rounds_up(const Cut& c, int drop, bool odd, bool negative,
                         const Attributes& attributes, std::uint32_t random) {
  if (c.exact) return false;
  switch (rule_of(attributes.rounding).up(odd, negative)) {
    case Up::never: return false;
    case Up::above_half: return c.above_half;
    case Up::from_half: return c.above_half || c.exactly_half;
    case Up::above_zero: return true;
    case Up::drawn: {
      const int n = attributes.random_bits;
      const std::uint64_t one = std::uint64_t{1} << n;
      return discarded_fraction(c, drop, n) + (random & (one - 1)) >= one;
    }
  }
  return false;
}

/// Rounds a finite number to f.precision bits with an unbounded exponent, where the quantum is the
/// ulp of the number's binade. With `gradual`, the quantum is at least the subnormal ulp.
constexpr Rounded round_finite(const Exact& x, const Format& f, const Attributes& attributes,
                               std::uint32_t random, bool gradual) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  const int floor_e = gradual && e < f.emin() ? f.emin() : e;
  const int quantum = floor_e - f.fraction_bits();
  const int drop = quantum - x.exponent;
  const Cut c = cut(x, drop);
  // At precision 1 (e8m0) both neighbours of a tie are odd. Then the larger magnitude is taken, by
  // IEEE 754-2019 4.3.1 and as in ml_dtypes. P3109 and gfloat take the even encoding instead.
  const bool odd = (c.kept & 1) != 0;
  Rounded out{
      .kind = Kind::finite, .negative = x.negative, .significand = c.kept, .exponent = quantum};
  out.significand += rounds_up(c, drop, odd, x.negative, attributes, random) ? 1 : 0;
  if (out.significand >> f.precision != 0) {  // 11…1 + 1 = 100…0, whose low bit is zero
    out.significand >>= 1;
    out.exponent += 1;
  }
  out.flags = c.exact ? Flags{0} : Flag::inexact;
  return out;
}

/// Returns whether |x| is below the smallest normal number, by the chosen rule of 7.5: x itself, or
/// x rounded to the precision with an unbounded exponent.
constexpr bool is_tiny(const Exact& x, const Format& f, const Attributes& attributes,
                       std::uint32_t random) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  if (e >= f.emin()) return false;
  if (e < f.emin() - 1 || attributes.tininess == Tininess::before_rounding) return true;
  const Rounded unbounded = round_finite(x, f, attributes, random, false);
  return unbounded.exponent + bit_width(unbounded.significand) - 1 < f.emin();
}

/// Rounds to the format's precision and quantum; a number beyond its range stays as it is. A tiny
/// result becomes zero if the attributes say so or if the format has no zero (then see `saturate`).
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

/// Returns whether an overflow gives the largest finite number (7.4): where no number goes up from
/// an odd one, which that number counts as in every format. So do toward zero, the directed mode
/// that points inward, and to odd.
constexpr bool overflows_to_max(Rounding rounding, bool negative) {
  return rule_of(rounding).of(negative).odd == Up::never;
}

/// Returns whether a rounded number is beyond the largest finite number of the format.
constexpr bool exceeds_range(const Rounded& x, const Format& f) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  return e > f.emax() || (e == f.emax() && x.significand > f.max_significand());
}

/// Replaces what the format lacks (a NaN by the largest number, raising invalid; zero; infinities;
/// numbers beyond the range), and infinities that saturate. An overflow raises overflow and
/// inexact, never invalid. An infinite operand is exact (6.1) and raises nothing.
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

/// Returns the encoding of a number, infinity or NaN that the format has.
constexpr std::uint64_t encode(const Rounded& x, const Format& f, NanResult nan) {
  switch (x.kind) {
    case Kind::zero: return zero_bits(f, x.negative);
    case Kind::infinite: return infinity_bits(f, x.negative);
    case Kind::nan: {
      // By NVIDIA's header, without saturation, -1000 becomes 0xFF in e4m3 and a NaN becomes 0x7F.
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

/// Returns the encoding of x in a format, rounded by `attributes`, and the flags. Stochastic
/// rounding takes its random bits from the low bits of `random`.
constexpr Projected project(const Exact& x, const Format& f, const Attributes& attributes = {},
                            std::uint32_t random = 0) {
  const Rounded rounded = saturate(round(x, f, attributes, random), f, attributes);
  return {encode(rounded, f, attributes.nan), static_cast<Flags>(rounded.flags | x.flags)};
}

/// Returns the attributes of a conversion: from binary64 to 8 bits nvidia NaNs keep their sign
/// (cuda_fp8.h).
constexpr Attributes attributes_between(const Format& from, const Format& to,
                                        Attributes attributes) {
  if (attributes.nan == NanResult::nvidia && from == binary64 && to.storage_bits() == 8) {
    attributes.nan = NanResult::propagate;
  }
  return attributes;
}

/// Converts an encoding of one format to an encoding of another.
constexpr Projected convert(std::uint64_t bits, const Format& from, const Format& to,
                            const Attributes& attributes = {}, std::uint32_t random = 0) {
  return project(decode_operand(bits, from, attributes), to,
                 attributes_between(from, to, attributes), random);
}

}  // namespace binade
