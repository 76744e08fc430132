// SPDX-License-Identifier: Apache-2.0
//
// Numbers and integers: rounding to an integral value (IEEE 754-2019 5.9), conversion to signed and
// unsigned integers (5.8) and back (5.4.1). A number is cut at weight 2^0:
//
//     -2.75     - 1011 · 2^-2     - 10|11        to nearest: -3, toward zero: -2
//     in 8 bits, two's complement   11111101     -3 = 2^8 - 3 = 0xFD
#pragma once

#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// Returns a number rounded to an integer in the direction of `rounding`. A zero result keeps the
/// sign; zeros, infinities and NaNs are returned as they are. With `exact`, a changed value raises
/// inexact (roundToIntegralExact). `random` and `random_bits` are used by stochastic rounding only.
constexpr Exact round_to_integral(const Exact& x, Rounding rounding, bool exact,
                                  std::uint32_t random = 0, int random_bits = 32) {
  if (x.kind != Kind::finite || x.exponent >= 0) return x;
  const Attributes attributes{.rounding = rounding, .random_bits = random_bits};
  const Cut c = cut(x, -x.exponent);
  const bool up = rounds_up(c, -x.exponent, (c.kept & 1) != 0, x.negative, attributes, random);
  const std::uint64_t integer = c.kept + (up ? 1 : 0);
  const Flags flags = exact && !c.exact ? Flag::inexact : Flags{0};
  if (integer == 0) return {.kind = Kind::zero, .negative = x.negative, .flags = flags};
  return {.kind = Kind::finite, .negative = x.negative, .significand = integer, .flags = flags};
}

/// An integer type: its width in bits (1 to 64), and whether it is two's complement or unsigned.
struct IntegerType {
  int bits = 32;
  bool is_signed = true;

  /// Returns the mask of the type's bits.
  constexpr std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }
  /// Returns the largest magnitude of the negative or of the positive integers.
  constexpr std::uint64_t limit(bool negative) const {
    if (negative) return is_signed ? std::uint64_t{1} << (bits - 1) : 0;
    return is_signed ? mask() >> 1 : mask();
  }
};

/// Returns x rounded to an integer of a type, in the low bits. A value out of range raises invalid
/// and gives the nearest end of the range; a NaN raises invalid and gives 0. IEEE 754-2019 leaves
/// these values to the implementation; they are those of PTX's cvt. With `exact`, a changed value
/// raises inexact.
constexpr Projected to_integer(const Exact& x, const IntegerType& type, Rounding rounding,
                               bool exact) {
  if (x.kind == Kind::nan) return {0, Flag::invalid};
  const auto signed_bits = [&type](std::uint64_t magnitude, bool negative) {
    return (negative ? std::uint64_t{0} - magnitude : magnitude) & type.mask();
  };
  const Projected end{signed_bits(type.limit(x.negative), x.negative), Flag::invalid};
  if (x.kind == Kind::infinite) return end;
  if (x.kind == Kind::zero) return {0, x.flags};
  if (x.exponent + bit_width(x.significand) > 65) return end;
  const Exact integer = round_to_integral(x, rounding, exact);
  if (integer.kind == Kind::zero) return {0, integer.flags};
  const uint128 magnitude = integer.significand << integer.exponent;
  if (magnitude > type.limit(x.negative)) return end;
  return {signed_bits(static_cast<std::uint64_t>(magnitude), x.negative), integer.flags};
}

/// Returns an integer, whose bits above the type's width are ignored, as an exact number; 0 gives
/// +0.
constexpr Exact from_integer(std::uint64_t bits, const IntegerType& type) {
  bits &= type.mask();
  const bool negative = type.is_signed && ((bits >> (type.bits - 1)) & 1) != 0;
  const std::uint64_t magnitude = negative ? (std::uint64_t{0} - bits) & type.mask() : bits;
  if (magnitude == 0) return {.kind = Kind::zero};
  return {.kind = Kind::finite, .negative = negative, .significand = magnitude};
}

}  // namespace binade
