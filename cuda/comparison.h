// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the kernel that compares tiles with the emulator. Plain C++, so that the host
// fills them in.
#pragma once

#include "cuda/tiles.h"
#include "emulate/fast/dot_blocks.h"

namespace binade {

/// Tiles whose d is computed, and the pool's operands for the emulator. All pointers are to the
/// device's memory, which the caller owns.
struct Comparison {
  Tiles tiles;
  DotModel model;
  DotTypes types;
  int k = 0;
  const std::uint64_t* a = nullptr;  ///< k encodings per row
  const std::uint64_t* b = nullptr;  ///< k encodings per row
  /// a and b decoded for fast::dot_predecoded, or null if it does not compute the model. finite_a
  /// and finite_b have a byte per row, which is 0 if the row has a NaN or an infinity.
  const fast::Factor* factors_a = nullptr;
  const fast::Factor* factors_b = nullptr;
  const unsigned char* finite_a = nullptr;
  const unsigned char* finite_b = nullptr;
  CrossTally* total = nullptr;  ///< the kernel adds its counts here
};

}  // namespace binade
