// SPDX-License-Identifier: Apache-2.0
//
// Eight integers side by side, one for each of eight neighbouring columns of a matrix product.
// lanes.inc, which is compiled once for each level, works on them in GCC's and Clang's vectors of
// `width` lanes: 4 numbers of 64 bits for avx2, 8 for the other levels. A comparison of two vectors
// is -1 (all ones) in the lanes where it holds and 0 elsewhere.
//
//     EightLongs    | x0 | x1 | x2 | x3 | x4 | x5 | x6 | x7 |     64 bits each
//     width 4       `----- part 0 -----' `----- part 1 -----'
//     a lane        ±integer · 2^unit, one unit for all: 5/8 is 5 where unit = -3
#pragma once

#include <cstdint>

namespace binade::fast::lanes {

inline constexpr int count = 8;

// The attribute gives both types the alignment that the widest level's instructions need, in files
// of every level. As a template's argument a type loses the attribute; a struct's member keeps it.
using EightLongs [[gnu::vector_size(64), gnu::aligned(64)]] = std::int64_t;
using EightInts [[gnu::vector_size(32), gnu::aligned(32)]] = std::int32_t;

/// Magnitudes stay below 2^room units, so that the sum of two has room in 64 bits with a sign.
inline constexpr int room = 61;

}  // namespace binade::fast::lanes
