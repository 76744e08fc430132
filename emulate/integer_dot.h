// SPDX-License-Identifier: Apache-2.0
//
// The integer forms of the Tensor Core instructions: d = c + sum of a[k]·b[k] in 32 bits, exactly.
// An integer type is a Format (emulate/format.h) without an exponent field, so that instructions
// and recordings of integers and of floating-point numbers are described by the same types. From
// the PTX ISA 9.0 (mma); an H100's results are equal (tests/recordings/sm_90/dots).
//
//     type     bits       value                    d = 7FFFFFFF + 1
//     s4       1101       -3, two's complement     satfinite     7FFFFFFF
//     u4       1101       13                       otherwise     80000000, the low 32 bits
#pragma once

#include <cstdint>

#include "emulate/format.h"
#include "emulate/trace.h"

namespace binade {

/// PTX's integer types. `precision` counts one bit more than an unsigned type has, because a
/// Format's fraction has precision - 1 bits; in a signed type the sign bit makes up for it.
BINADE_CONSTANT Format s32{0, 32, 0, Specials::none, true, true};
BINADE_CONSTANT Format s8{0, 8, 0, Specials::none, true, true};
BINADE_CONSTANT Format u8{0, 9, 0, Specials::none, true, false};
BINADE_CONSTANT Format s4{0, 4, 0, Specials::none, true, true};
BINADE_CONSTANT Format u4{0, 5, 0, Specials::none, true, false};
BINADE_CONSTANT Format b1{0, 2, 0, Specials::none, true, false};

/// Returns whether a format is one of the integer types.
constexpr bool is_integer(const Format& f) { return f.exponent_bits == 0 && f.precision > 1; }

/// Returns the integer that the low bits of `code` stand for: two's complement if the type has a
/// sign.
constexpr std::int64_t integer_of(std::uint64_t code, const Format& f) {
  const std::uint64_t ones = (std::uint64_t{1} << f.bits()) - 1;
  const auto value = static_cast<std::int64_t>(code & ones);
  const bool negative = f.has_sign && (code >> (f.bits() - 1) & 1) != 0;
  return negative ? value - static_cast<std::int64_t>(ones) - 1 : value;
}

/// How the sum becomes 32 bits, and what the product of two one-bit operands (b1) is.
struct IntegerModel {
  bool satfinite = false;     ///< a sum out of range becomes the nearest end; else its low 32 bits
  bool exclusive_or = false;  ///< b1: a[k] xor b[k] (.xor.popc); else a[k] and b[k] (.and.popc)

  friend constexpr bool operator==(const IntegerModel&, const IntegerModel&) = default;
};

/// Returns d, as the bits of an s32, of c and k products; operands are encodings of their types.
/// The sum is exact in 64 bits and becomes 32 bits once, at the end.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t integer_dot(const IntegerModel& model, const Format& a_type,
                                    const Format& b_type, const Code* a, const Code* b, int k,
                                    std::uint64_t c, const Trace& trace = {}) {
  const auto term = [&trace](std::int64_t x, int place) {
    const auto magnitude = static_cast<std::uint64_t>(x < 0 ? -x : x);
    trace.term({place, {x == 0 ? Kind::zero : Kind::finite, x < 0, magnitude, 0, 0}, x});
    return x;
  };
  std::int64_t exact = term(integer_of(c, s32), addend_place);
  for (int i = 0; i < k; ++i) {
    const std::int64_t x = integer_of(a[i], a_type);
    const std::int64_t y = integer_of(b[i], b_type);
    exact += term(model.exclusive_or ? x ^ y : x * y, i);
  }
  constexpr std::int64_t lowest = -(std::int64_t{1} << 31);
  constexpr std::int64_t highest = -lowest - 1;
  std::int64_t sum = exact;
  if (model.satfinite) sum = sum < lowest ? lowest : sum > highest ? highest : sum;
  const std::uint64_t out = static_cast<std::uint32_t>(sum);
  trace.block({0, 0, 0, exact, false, s32, out});
  return out;
}

}  // namespace binade
