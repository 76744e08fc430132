// SPDX-License-Identifier: Apache-2.0
//
// Operands of dot products for tests: every kind of encoding, near and far exponents, cancellation,
// specials.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "emulate/tensor_core.h"
#include "tests/emulate/operand_draw.h"

namespace binade::test {

struct DrawnDot {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
};

/// Whether the encoding is neither a NaN nor an infinity.
inline bool is_number(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) return true;
  const Kind kind = decode(bits, f).kind;
  return kind == Kind::finite || kind == Kind::zero;
}

inline int random_exponent(Random& random, const Format& f) {
  return between(random, f.emin() - 1, f.emax());
}

/// Kinds of rows: any bits; near exponents; at the floor; few products that cancel.
inline DrawnDot draw_dot(Random& random, const DotTypes& types, int k) {
  DrawnDot out;
  const int kind = between(random, 0, 4);
  const int target = kind == 2 ? between(random, -160, -100)
                               : between(random, -20, 20) + (types.d == binary16 ? -4 : 0);
  for (int i = 0; i < k; ++i) {
    if (kind == 0) {
      out.a.push_back(random() >> (64 - types.a.bits()) << types.a.padding_bits);
      out.b.push_back(random() >> (64 - types.b.bits()) << types.b.padding_bits);
      continue;
    }
    const bool zero = random() % 8 == 0;
    const int e = random_exponent(random, types.a);
    const int near = kind == 1 ? between(random, -4, 4) : kind == 3 ? between(random, -30, 30) : 0;
    out.a.push_back(zero ? zero_bits(types.a, random() % 2 == 0) : draw_at(random, types.a, e));
    out.b.push_back(draw_at(random, types.b, target + near - e));
  }
  if (kind == 4 && k > 1) {  // pairs that cancel
    for (std::size_t i = 0; i + 1 < out.a.size(); i += 2) {
      const std::uint64_t sign = std::uint64_t{1} << (types.a.bits() - 1 + types.a.padding_bits);
      out.a[i + 1] = out.a[i] ^ sign;
      out.b[i + 1] = random() % 4 == 0 ? draw_at(random, types.b, target) : out.b[i];
    }
  }
  out.c = random() % 4 == 0    ? zero_bits(types.c, random() % 2 == 0)
          : random() % 16 == 0 ? random() >> (64 - types.c.bits())
                               : draw_at(random, types.c, target + between(random, -12, 12));
  return out;
}

}  // namespace binade::test
