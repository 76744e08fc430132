// SPDX-License-Identifier: Apache-2.0
//
// Eight integers at once, as GCC and Clang have them on every machine, and numbers that are integers in units of some
// 2^unit, rounded. A comparison is -1 where it holds and 0 elsewhere.
#pragma once

#include <cstdint>
#include <limits>

#include "emulate/format.h"

namespace binade::fast::lanes {

inline constexpr int count = 8;

// Each with the alignment that its instructions ask for, whatever the level a file is compiled for; templates'
// arguments lose it, structs keep it.
using Long [[gnu::vector_size(64), gnu::aligned(64)]] = std::int64_t;
using Int [[gnu::vector_size(32), gnu::aligned(32)]] = std::int32_t;
using Double [[gnu::vector_size(64), gnu::aligned(64)]] = double;

[[gnu::always_inline]] inline Long widened(Int x) { return __builtin_convertvector(x, Long); }
[[gnu::always_inline]] inline Int narrowed(Long x) { return __builtin_convertvector(x, Int); }

template <class V>
[[gnu::always_inline]] inline V larger(V x, V y) {
  return x > y ? x : y;
}
template <class V>
[[gnu::always_inline]] inline V smaller(V x, V y) {
  return x < y ? x : y;
}

/// x where minus is 0, -x where it is -1.
template <class V>
[[gnu::always_inline]] inline V signed_as(V x, V minus) {
  return (x ^ minus) - minus;
}
template <class V>
[[gnu::always_inline]] inline V magnitude(V x) {
  return signed_as(x, x >> (8 * sizeof(x[0]) - 1));
}

/// floor(log2) of positive numbers; of 0 far below.
[[gnu::always_inline]] inline Long log2(Long x) {
  // Without the bit below the highest no conversion rounds up to the next power of two.
  const Double rounded = __builtin_convertvector(x & ~(x >> 1), Double);
  return (reinterpret_cast<Long>(rounded) >> 52) - 1023;
}

/// 2^x; of what is negative 0. x < 63.
[[gnu::always_inline]] inline Long power(Long x) {
  return (x >= 0) & (Long{1, 1, 1, 1, 1, 1, 1, 1} << larger(x, Long{}));
}
/// The bits below 2^x; x < 63.
[[gnu::always_inline]] inline Long bits_below(Long x) {
  return (Long{1, 1, 1, 1, 1, 1, 1, 1} << larger(x, Long{})) - 1;
}

/// Numbers stay below 2^room units.
inline constexpr int room = 61;

/// A format in units.
struct LaneFormat {
  std::int64_t fraction_bits, emin, quantum;
  std::int64_t infinity;  ///< the smallest number beyond the format

  LaneFormat(const Format& f, int unit)
      : fraction_bits(f.fraction_bits()),
        emin(f.emin() - unit),
        quantum(f.quantum_exponent() - unit) {
    const int beyond = f.emax() + 1 - unit;
    infinity = beyond > room + 1 ? std::numeric_limits<std::int64_t>::max()
                                 : std::int64_t{1} << (beyond < 0 ? 0 : beyond);
  }
};

/// To nearest, ties to even, or toward zero; as if the format had no largest number.
[[gnu::always_inline]] inline Long rounded(Long x, const LaneFormat& to, bool nearest) {
  const Long size = magnitude(x);
  const Long unit = larger(log2(size), Long{} + to.emin) - to.fraction_bits;
  const Long below = bits_below(smaller(unit, Long{} + room));
  const Long rest = size & below;
  Long result = size - rest;
  if (nearest) {
    const Long half = (below >> 1) + (below & 1);
    const Long is_odd = (result & (below + 1)) != 0;
    const Long up = (rest > half) | ((rest == half) & is_odd);
    result += up & (rest != 0) & (below + 1);
  }
  return signed_as(result, x >> 63);
}

[[gnu::always_inline]] inline bool any_of(Long x) {
  std::int64_t out = 0;
  for (int i = 0; i < count; ++i) out |= x[i];
  return out != 0;
}

}  // namespace binade::fast::lanes
