// SPDX-License-Identifier: Apache-2.0
//
// The integer forms of the Tensor Core instructions: d = c + sum of a[k]·b[k] in 32 bits, exactly. An
// integer type is a Format without an exponent field, so that instructions, rows and recordings of
// both kinds are made of the same parts. From the PTX ISA 9.0 (mma); not yet recorded on hardware.
#pragma once

#include <cstdint>

#include "emulate/format.h"
#include "emulate/trace.h"

namespace binade {

BINADE_CONSTANT Format s32{0, 32, 0, Specials::none, true, true};
BINADE_CONSTANT Format s8{0, 8, 0, Specials::none, true, true};
BINADE_CONSTANT Format u8{0, 9, 0, Specials::none, true, false};
BINADE_CONSTANT Format s4{0, 4, 0, Specials::none, true, true};
BINADE_CONSTANT Format u4{0, 5, 0, Specials::none, true, false};
BINADE_CONSTANT Format b1{0, 2, 0, Specials::none, true, false};

constexpr bool is_integer(const Format& f) { return f.exponent_bits == 0 && f.precision > 1; }

/// The number of a code, its upper bits ignored: two's complement where there is a sign.
constexpr std::int64_t integer_of(std::uint64_t code, const Format& f) {
  const std::uint64_t ones = (std::uint64_t{1} << f.bits()) - 1;
  const auto value = static_cast<std::int64_t>(code & ones);
  const bool negative = f.has_sign && (code >> (f.bits() - 1) & 1) != 0;
  return negative ? value - static_cast<std::int64_t>(ones) - 1 : value;
}

/// How 32 bits hold the sum, and what one bit does to another.
struct IntegerModel {
  bool satfinite = false;     ///< the nearest of the two ends; else the low 32 bits
  bool exclusive_or = false;  ///< of b1: .xor.popc; else .and.popc

  friend constexpr bool operator==(const IntegerModel&, const IntegerModel&) = default;
};

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
