// SPDX-License-Identifier: Apache-2.0
//
// Eight integers at once, as GCC and Clang have them on every machine; a comparison is -1 where it holds and 0
// elsewhere. What is done with them is lanes.inc, once for each level.
#pragma once

#include <cstdint>

namespace binade::fast::lanes {

inline constexpr int count = 8;

// Each with the alignment that its instructions ask for, whatever the level a file is compiled for; templates'
// arguments lose it, structs keep it.
using Long [[gnu::vector_size(64), gnu::aligned(64)]] = std::int64_t;
using Int [[gnu::vector_size(32), gnu::aligned(32)]] = std::int32_t;
using Double [[gnu::vector_size(64), gnu::aligned(64)]] = double;

/// Numbers stay below 2^room units.
inline constexpr int room = 61;

}  // namespace binade::fast::lanes
