// SPDX-License-Identifier: Apache-2.0
//
// Numbers and integers: rounding to an integral value (IEEE 754-2019 5.9), conversion to signed and
// unsigned integers (5.8) and back (5.4.1).
#pragma once

#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// The nearest integer in the direction of `rounding`, as a number; a zero result keeps the sign.
/// `exact`: raise inexact where the value changes (roundToIntegralExact).
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

/// Width in bits (1 to 64) and signedness of a two's complement or unsigned integer.
struct IntegerType {
  int bits = 32;
  bool is_signed = true;

  constexpr std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }
  /// Largest magnitude on a side of zero.
  constexpr std::uint64_t limit(bool negative) const {
    if (negative) return is_signed ? std::uint64_t{1} << (bits - 1) : 0;
    return is_signed ? mask() >> 1 : mask();
  }
};

/// x as an integer, in the low bits. Out of range: invalid, and the nearest end of the range; NaN:
/// invalid and 0 (PTX cvt). 754 leaves these values open. `exact`: raise inexact for a fraction.
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

/// The low bits of an integer as an exact number; 0 is +0.
constexpr Exact from_integer(std::uint64_t bits, const IntegerType& type) {
  bits &= type.mask();
  const bool negative = type.is_signed && ((bits >> (type.bits - 1)) & 1) != 0;
  const std::uint64_t magnitude = negative ? (std::uint64_t{0} - bits) & type.mask() : bits;
  if (magnitude == 0) return {.kind = Kind::zero};
  return {.kind = Kind::finite, .negative = negative, .significand = magnitude};
}

}  // namespace binade
