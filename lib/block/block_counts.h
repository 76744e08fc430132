// SPDX-License-Identifier: Apache-2.0
//
// What happened to the numbers and the scales of a tensor in blocks.
#pragma once

#include <cstdint>

#include "emulate/block_arrays.h"

namespace binade {

struct BlockCounts {
  EventCounts elements;
  ScaleCounts scales;
  std::uint64_t padding = 0;  ///< zeros that would fill the short blocks

  friend bool operator==(const BlockCounts&, const BlockCounts&) = default;

  BlockCounts& operator+=(const BlockCounts& other) {
    elements += other.elements;
    scales += other.scales;
    padding += other.padding;
    return *this;
  }
};

}  // namespace binade
