// SPDX-License-Identifier: Apache-2.0
//
// What the kernel that compares tiles with the emulator takes. Plain C++: the host fills it in.
#pragma once

#include "cuda/tiles.h"
#include "emulate/fast/dot_blocks.h"

namespace binade {

/// Tiles with their d, and the pool's operands as the emulator takes them.
struct Comparison {
  Tiles tiles;
  DotModel model;
  DotTypes types;
  int k = 0;
  const std::uint64_t* a = nullptr;  ///< encodings, k of a row
  const std::uint64_t* b = nullptr;
  /// The same predecoded, or null where the model is not for that; rows with a NaN or an infinity
  /// have no finite mark.
  const fast::Factor* factors_a = nullptr;
  const fast::Factor* factors_b = nullptr;
  const unsigned char* finite_a = nullptr;
  const unsigned char* finite_b = nullptr;
  CrossTally* total = nullptr;
};

}  // namespace binade
