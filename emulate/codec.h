// SPDX-License-Identifier: Apache-2.0
//
// Bits to exact numbers, and the encodings that are not the result of rounding: zeros, infinities,
// NaNs, the ends of the range. Encoding a rounded number is project.h's last step.
#pragma once

#include <cstdint>

#include "emulate/attributes.h"
#include "emulate/format.h"
#include "emulate/leading_zeros.h"

namespace binade {

__extension__ typedef unsigned __int128 uint128;

/// Number of bits up to and including the highest one; 0 for 0.
constexpr int bit_width(std::uint64_t x) { return 64 - leading_zeros(x); }
constexpr int bit_width(uint128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(x));
}

enum class Kind : std::uint8_t { zero, finite, infinite, nan };

/// An exact intermediate result: what operations hand to `project`. A finite one is
///
///     (-1)^negative · (significand + rest) · 2^exponent,   0 <= rest < 1,   rest > 0 iff sticky
///
/// with significand > 0 in a 128-bit window. With a rest, the significand must keep at least
/// 34 bits below the precision it will be rounded to (a tie's bit and stochastic rounding's 32).
/// An IEEE format's NaN keeps its fraction left-aligned in the low 64 bits of `significand`, quiet
/// bit first; the only NaN of a nan_only or fnuz format has no payload.
struct Exact {
  Kind kind = Kind::zero;
  bool negative = false;
  bool sticky = false;
  bool signaling = false;
  int exponent = 0;
  uint128 significand = 0;
  Flags flags = 0;  ///< raised on the way: invalid, divide_by_zero, inexact
};

/// An encoding taken apart; padding removed.
struct Fields {
  bool negative = false;
  std::uint64_t exponent = 0;
  std::uint64_t fraction = 0;
};

constexpr Fields fields_of(std::uint64_t bits, const Format& f) {
  bits >>= f.padding_bits;
  const bool negative = f.has_sign && ((bits >> (f.bits() - 1)) & 1) != 0;
  return {negative, (bits >> f.fraction_bits()) & f.exponent_mask(), bits & f.fraction_mask()};
}

constexpr std::uint64_t bits_of(const Fields& x, const Format& f) {
  const std::uint64_t sign =
      x.negative && f.has_sign ? std::uint64_t{1} << (f.bits() - 1) : std::uint64_t{0};
  return (sign | x.exponent << f.fraction_bits() | x.fraction) << f.padding_bits;
}

constexpr std::uint64_t zero_bits(const Format& f, bool negative) {
  return bits_of({negative && f.has_negative_zero(), 0, 0}, f);
}

constexpr std::uint64_t infinity_bits(const Format& f, bool negative) {
  return bits_of({negative, f.exponent_mask(), 0}, f);
}

/// Encoding of the largest finite number.
constexpr std::uint64_t max_bits(const Format& f, bool negative) {
  const auto field = static_cast<std::uint64_t>(f.emax() + f.bias);
  return bits_of({negative, field, f.max_significand() & f.fraction_mask()}, f);
}

/// Encoding of the smallest positive number (subnormal where there are any).
constexpr std::uint64_t min_bits(const Format& f, bool negative) {
  if (!f.has_zero) return bits_of({negative, 0, 0}, f);
  return f.precision > 1 ? bits_of({negative, 0, 1}, f) : bits_of({negative, 1, 0}, f);
}

/// The NaN an operation returns. `payload` is a fraction left-aligned in 64 bits (Exact).
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

/// The kind of an encoding, from its fields.
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

/// Bits to the exact number they stand for. Bits above the encoding and in the padding are ignored.
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

constexpr bool is_subnormal(std::uint64_t bits, const Format& f) {
  const Fields x = fields_of(bits, f);
  return f.has_zero && x.exponent == 0 && x.fraction != 0;
}

/// The operand as the operation sees it: under DAZ a subnormal is a zero of its sign.
constexpr Exact decode_operand(std::uint64_t bits, const Format& f, const Attributes& attributes) {
  if (attributes.flush_operands && is_subnormal(bits, f)) {
    return {.kind = Kind::zero, .negative = fields_of(bits, f).negative};
  }
  return decode(bits, f);
}

}  // namespace binade
