// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of squares of significands in three limbs, which is all that the values of a binade
// need.
#pragma once

#include <array>
#include <cstdint>

#include "emulate/codec.h"

namespace binade {

/// A 192-bit unsigned integer that only grows. It holds the sum of 2^64 squares of 53-bit
/// significands.
struct SquareSum {
  std::array<std::uint64_t, 3> limbs{};  ///< lowest first

  void add(uint128 value);
  void add_product(uint128 a, std::uint64_t b);
  SquareSum& operator+=(const SquareSum& other);
  friend bool operator==(const SquareSum&, const SquareSum&) = default;
};

}  // namespace binade
