// SPDX-License-Identifier: Apache-2.0
//
// Seeded random operands, formats and attributes for tests, drawn so that ties, subnormal results,
// overflows and cancellations are frequent.
#pragma once

#include <algorithm>
#include <random>

#include "emulate/operation.h"

namespace binade::test {

using Random = std::mt19937_64;

inline int between(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
}

/// Returns a fraction field with random bits, with nearly all ones, with nearly all zeros, or with
/// a few leading bits.
inline std::uint64_t draw_fraction(Random& random, const Format& f) {
  switch (random() % 4) {
    case 0: return random() & f.fraction_mask();
    case 1: return f.fraction_mask() & ~(random() % 4);
    case 2: return f.fraction_mask() & random() % 4;
    default: return f.fraction_mask() & random() % 8 << std::max(0, f.fraction_bits() - 3);
  }
}

/// Returns an encoding with this exponent, or with the nearest exponent field, so that subnormals,
/// infinities and NaNs come up too.
inline std::uint64_t draw_at(Random& random, const Format& f, int exponent) {
  const int field = std::clamp(exponent + f.bias, 0, static_cast<int>(f.exponent_mask()));
  return bits_of({random() % 2 == 0, static_cast<std::uint64_t>(field), draw_fraction(random, f)},
                 f);
}

inline int exponent_of(std::uint64_t bits, const Format& f) {
  return static_cast<int>(fields_of(bits, f).exponent) - f.bias;
}

/// Returns an exponent for the result: near the subnormals, near the largest, or any.
inline int draw_target(Random& random, const Format& to) {
  switch (random() % 3) {
    case 0: return to.emin() + between(random, -to.precision - 2, 1);
    case 1: return to.emax() + between(random, -1, 1);
    default: return between(random, to.emin() - 1, to.emax() + 1);
  }
}

/// Returns the second operand, chosen so that the result has an exponent of draw_target() or
/// cancels.
inline std::uint64_t draw_second(Random& random, Operation operation, std::uint64_t a,
                                 const OperandFormats& from, const Format& to) {
  const int e = exponent_of(a, from[0]);
  const int p = to.precision;
  const bool same_format = from[0] == from[1];
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
    case Operation::minimum:
    case Operation::maximum:
    case Operation::minimum_number:
    case Operation::maximum_number:
      if (same_format && random() % 8 == 0) return a;
      if (same_format && random() % 8 == 0) return zero_bits(from[0], true) ^ a;
      return draw_at(random, from[1], e + between(random, -p - 3, p + 3));
    case Operation::divide: return draw_at(random, from[1], e - draw_target(random, to));
    case Operation::remainder: return draw_at(random, from[1], e - between(random, -3, 70));
    default: return draw_at(random, from[1], draw_target(random, to) - e);
  }
}

/// Returns factors whose product lies so little below the smallest normal number that it rounds up
/// to it, whether the exponent is bounded or not: (2 - 2u)(1 + u) = 2 - 2u^2, where u is the ulp of
/// 1.
inline Operands draw_almost_normal(Random& random, const OperandFormats& from, const Format& to) {
  const int e = between(random, -5, 5);
  const auto code = [&](std::size_t i, int exponent, std::uint64_t fraction) {
    const auto field = static_cast<std::uint64_t>(
        std::clamp(exponent + from[i].bias, 0, static_cast<int>(from[i].exponent_mask())));
    return bits_of({random() % 2 == 0, field, fraction & from[i].fraction_mask()}, from[i]);
  };
  return {code(0, e, from[0].fraction_mask() - 1), code(1, to.emin() - 1 - e, 1),
          code(2, -from[2].bias, 0)};
}

inline Operands draw_operands(Random& random, Operation operation, const OperandFormats& from,
                              const Format& to) {
  Operands bits{};
  const bool multiplies = operation == Operation::multiply || operation == Operation::multiply_add;
  if (multiplies && random() % 64 == 0) return draw_almost_normal(random, from, to);
  for (std::size_t i = 0; i < 3; ++i) {
    const Format& f = from[i];
    bits[i] =
        draw_at(random, f, between(random, f.emin() - 1, f.emax() + (random() % 16 == 0 ? 1 : 0)));
  }
  if (random() % 8 == 0) return bits;
  if (operation == Operation::add || operation == Operation::subtract) {
    bits[0] = draw_at(random, from[0], draw_target(random, to));
  }
  bits[1] = draw_second(random, operation, bits[0], from, to);
  if (operation == Operation::multiply_add && random() % 8 != 0) {
    const int e = exponent_of(bits[0], from[0]) + exponent_of(bits[1], from[1]);
    bits[2] =
        draw_at(random, from[2], e + between(random, -2 * to.precision - 3, to.precision + 3));
    // In one case of four the addend is the negated product, rounded.
    const Exact product = negated(multiply(decode(bits[0], from[0]), decode(bits[1], from[1])));
    if (random() % 4 == 0) bits[2] = project(product, from[2]).bits;
  }
  return bits;
}

inline Attributes draw_attributes(Random& random) {
  return {.rounding = roundings[random() % roundings.size()].rounding,
          .saturation = random() % 4 == 0 ? Saturation::finite : Saturation::none,
          .flush_results = random() % 8 == 0,
          .flush_operands = random() % 8 == 0,
          .nan = static_cast<NanResult>(random() % 3),
          .random_bits = between(random, 1, 32)};
}

/// Returns a user's format of these widths.
inline Format draw_format(Random& random, int exponent_bits, int precision) {
  for (;;) {
    Format f{exponent_bits, precision, (1 << (exponent_bits - 1)) - 1};
    if (random() % 3 == 0) f.bias += between(random, -30, 30);
    f.specials = static_cast<Specials>(random() % 4);
    f.has_zero = random() % 8 != 0;
    f.has_sign = random() % 8 != 0;
    f.padding_bits = random() % 6 == 0 ? between(random, 0, 7) : 0;
    if (is_valid(f)) return f;
  }
}

/// Returns a row of the table of formats, or a user's format.
inline Format draw_format(Random& random) {
  if (random() % 2 == 0) return formats[random() % formats.size()].format;
  const int exponent_bits = between(random, 2, 11);
  return draw_format(random, exponent_bits, between(random, 1, 53));
}

}  // namespace binade::test
