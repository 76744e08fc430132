// SPDX-License-Identifier: Apache-2.0
//
// Decoding: from bits to exact numbers; and the encodings that are not the result of rounding:
// zeros, infinities, NaNs, the ends of the range. Encoding a rounded number is project.h's last
// step.
//
//     binary16         sign exponent fraction        Exact
//     39C0   normal     0    01110   0111000000      +10111000000 · 2^-11 = 0.71875
//                                                     `- hidden one
//     0003   subnormal  0    00000   0000000011      +11 · 2^-24 (emin - 10 = -24, no hidden one)
//     FC01   NaN        1    11111   0000000001      significand = 0000000001 at bits 63 to 54;
//                                                    signaling, since bit 63, the quiet bit, is 0
#pragma once

#include <cstdint>

#include "emulate/attributes.h"
#include "emulate/format.h"
#include "emulate/leading_zeros.h"

namespace binade {

__extension__ typedef unsigned __int128 uint128;

/// Returns the number of bits up to and including the highest 1; 0 for 0.
constexpr int bit_width(std::uint64_t x) { return 64 - leading_zeros(x); }
constexpr int bit_width(uint128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(x));
}

/// What an encoding or an intermediate result is; `finite` excludes zero.
enum class Kind : std::uint8_t { zero, finite, infinite, nan };

/// An exact intermediate result, which operations hand to `project` (project.h). A finite one is
///
///     (-1)^negative · (significand + rest) · 2^exponent,   0 <= rest < 1,   rest > 0 iff sticky
///
/// with significand > 0 in a 128-bit window. If sticky is set, the significand must have at least
/// 33 bits more than the precision it will be rounded to: one that decides ties, and 32 for
/// stochastic rounding. A NaN of an IEEE format keeps its fraction left-aligned in the low 64 bits
/// of `significand`, the quiet bit first. The NaN of a nan_only or fnuz format
/// (emulate/format.h), of which a nan_only format with a sign has two, has no payload.
struct Exact {
  Kind kind = Kind::zero;
  bool negative = false;
  bool sticky = false;
  bool signaling = false;
  int exponent = 0;
  uint128 significand = 0;
  Flags flags = 0;  ///< raised so far: invalid, divide_by_zero, inexact
};

/// The fields of an encoding, without its padding; `exponent` is the biased field.
struct Fields {
  bool negative = false;
  std::uint64_t exponent = 0;
  std::uint64_t fraction = 0;
};

/// Splits an encoding into its fields. Bits above the encoding and in the padding are ignored.
constexpr Fields fields_of(std::uint64_t bits, const Format& f) {
  bits >>= f.padding_bits;
  const bool negative = f.has_sign && ((bits >> (f.bits() - 1)) & 1) != 0;
  return {negative, (bits >> f.fraction_bits()) & f.exponent_mask(), bits & f.fraction_mask()};
}

/// Joins fields to an encoding. The sign is dropped if the format has none.
constexpr std::uint64_t bits_of(const Fields& x, const Format& f) {
  const std::uint64_t sign =
      x.negative && f.has_sign ? std::uint64_t{1} << (f.bits() - 1) : std::uint64_t{0};
  return (sign | x.exponent << f.fraction_bits() | x.fraction) << f.padding_bits;
}

/// Returns the encoding of a zero: +0 if the format has no -0.
constexpr std::uint64_t zero_bits(const Format& f, bool negative) {
  return bits_of({negative && f.has_negative_zero(), 0, 0}, f);
}

/// Returns the encoding of an infinity, for formats with Specials::ieee.
constexpr std::uint64_t infinity_bits(const Format& f, bool negative) {
  return bits_of({negative, f.exponent_mask(), 0}, f);
}

/// Returns the encoding of the finite number with the largest magnitude.
constexpr std::uint64_t max_bits(const Format& f, bool negative) {
  const auto field = static_cast<std::uint64_t>(f.emax() + f.bias);
  return bits_of({negative, field, f.max_significand() & f.fraction_mask()}, f);
}

/// Returns the encoding of the smallest non-zero magnitude: a subnormal number if the format has
/// any.
constexpr std::uint64_t min_bits(const Format& f, bool negative) {
  if (!f.has_zero) return bits_of({negative, 0, 0}, f);
  return f.precision > 1 ? bits_of({negative, 0, 1}, f) : bits_of({negative, 1, 0}, f);
}

/// Returns the encoding of the NaN that a rule gives. `negative` and `payload`, a fraction
/// left-aligned in 64 bits as in Exact, count only for NanResult::propagate. A fnuz format has one
/// NaN for all rules.
constexpr std::uint64_t nan_bits(const Format& f, NanResult rule, bool negative = false,
                                 std::uint64_t payload = 0) {
  if (f.specials == Specials::fnuz) return bits_of({true, 0, 0}, f);
  const bool sign = rule == NanResult::propagate && negative;
  if (f.specials == Specials::nan_only) {
    return bits_of({sign, f.exponent_mask(), f.fraction_mask()}, f);
  }
  const std::uint64_t quiet = std::uint64_t{1} << (f.fraction_bits() - 1);
  const std::uint64_t fraction = rule == NanResult::quiet ? quiet
                                 : rule == NanResult::nvidia
                                     ? f.fraction_mask()
                                     : quiet | payload >> (64 - f.fraction_bits());
  return bits_of({sign, f.exponent_mask(), fraction}, f);
}

/// Returns the kind of an encoding, from its fields.
constexpr Kind kind_of(const Fields& x, const Format& f) {
  const bool top = x.exponent == f.exponent_mask();
  switch (f.specials) {
    case Specials::ieee:
      if (top) return x.fraction == 0 ? Kind::infinite : Kind::nan;
      break;
    case Specials::nan_only:
      if (top && x.fraction == f.fraction_mask()) return Kind::nan;
      break;
    case Specials::fnuz:
      if (x.negative && x.exponent == 0 && x.fraction == 0) return Kind::nan;
      break;
    case Specials::none: break;
  }
  const bool zero = f.has_zero && x.exponent == 0 && x.fraction == 0;
  return zero ? Kind::zero : Kind::finite;
}

/// Returns the exact number that an encoding stands for. Bits above the encoding and in the padding
/// are ignored.
constexpr Exact decode(std::uint64_t bits, const Format& f) {
  const Fields x = fields_of(bits, f);
  Exact out{.kind = kind_of(x, f), .negative = x.negative};
  if (out.kind == Kind::nan && f.specials == Specials::ieee) {
    const std::uint64_t payload = x.fraction << (64 - f.fraction_bits());
    out.significand = payload;
    out.signaling = (payload >> 63) == 0;
  } else if (out.kind == Kind::finite) {
    const bool subnormal = f.has_zero && x.exponent == 0;
    out.significand = subnormal ? x.fraction : x.fraction | std::uint64_t{1} << f.fraction_bits();
    const int e = subnormal ? f.emin() : static_cast<int>(x.exponent) - f.bias;
    out.exponent = e - f.fraction_bits();
  }
  return out;
}

/// Returns whether an encoding is a subnormal number.
constexpr bool is_subnormal(std::uint64_t bits, const Format& f) {
  const Fields x = fields_of(bits, f);
  return f.has_zero && x.exponent == 0 && x.fraction != 0;
}

/// Returns the operand as an operation takes it: under DAZ a subnormal number is a zero with its
/// sign.
constexpr Exact decode_operand(std::uint64_t bits, const Format& f, const Attributes& attributes) {
  if (attributes.flush_operands && is_subnormal(bits, f)) {
    return {.kind = Kind::zero, .negative = fields_of(bits, f).negative};
  }
  return decode(bits, f);
}

}  // namespace binade
