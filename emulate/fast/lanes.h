// SPDX-License-Identifier: Apache-2.0
//
// Eight columns' integers side by side, and as vectors, which GCC and Clang have on every machine, as many at once as a
// level's instructions take; a comparison is -1 where it holds and 0 elsewhere. The vectors, and what is done with
// them, are lanes.inc, once for each level.
#pragma once

#include <cstdint>

namespace binade::fast::lanes {

inline constexpr int count = 8;

// Each with the alignment that its instructions ask for, whatever the level a file is compiled for; templates'
// arguments lose it, structs keep it.
using EightLongs [[gnu::vector_size(64), gnu::aligned(64)]] = std::int64_t;
using EightInts [[gnu::vector_size(32), gnu::aligned(32)]] = std::int32_t;

/// Numbers stay below 2^room units.
inline constexpr int room = 61;

}  // namespace binade::fast::lanes
