// SPDX-License-Identifier: Apache-2.0
//
// Which element of a matrix a lane's register holds in mma.m16n8 of PTX: data apart from the
// instructions, plain C++, so that a test without a GPU can show each element to be held once.
// A register of 32 bits holds 4 elements of 8 bits, 2 of 16 or one of 32, the first lowest.
#pragma once

namespace binade {

struct Place {
  int row = 0, column = 0;

  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// a, 16 × k, in 16 k / (32 per) registers.
constexpr Place place_of_a(int lane, int reg, int element, int per) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * per + element + 4 * per * (reg / 2)};
}

/// b, k × 8, in half as many.
constexpr Place place_of_b(int lane, int reg, int element, int per) {
  return {lane % 4 * per + element + 4 * per * reg, lane / 4};
}

/// c and d, 16 × 8: 4 registers of f32, 2 of f16.
constexpr Place place_of_c(int lane, int reg, int element, int per) {
  return per == 1 ? Place{lane / 4 + 8 * (reg / 2), lane % 4 * 2 + reg % 2}
                  : Place{lane / 4 + 8 * reg, lane % 4 * 2 + element};
}

}  // namespace binade
