// SPDX-License-Identifier: Apache-2.0
//
// Which element of a matrix a lane's register holds in mma.sync and mma.sp of PTX: data apart from
// the instructions, plain C++, so that a test without a GPU can show each element to be held once.
// A register of 32 bits holds 4 elements of 8 bits, 2 of 16 or one of 32, the first lowest; f64 has
// registers of 64 bits.
#pragma once

#include <cstdint>

namespace binade {

struct Place {
  int row = 0, column = 0;

  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// a, 16 × k, in 16 k / (32 per) registers. Of sparse instructions k here is that of the kept ones.
constexpr Place place_of_a(int lane, int reg, int element, int per) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * per + element + 4 * per * (reg / 2)};
}

/// b, k × 8, in half as many.
constexpr Place place_of_b(int lane, int reg, int element, int per) {
  return {lane % 4 * per + element + 4 * per * reg, lane / 4};
}

/// c and d, 16 × 8: 4 registers of f32 or f64, 2 of f16.
constexpr Place place_of_c(int lane, int reg, int element, int per) {
  return per == 1 ? Place{lane / 4 + 8 * (reg / 2), lane % 4 * 2 + reg % 2}
                  : Place{lane / 4 + 8 * reg, lane % 4 * 2 + element};
}

/// mma.m16n8, and m8n8k4 of f64: a's first register, half of c's.
struct M16n8Lanes {
  static constexpr int tiles = 1;  ///< of a warp
  static constexpr int tile_of(int) { return 0; }
  static constexpr Place a(int lane, int reg, int element, int per) {
    return place_of_a(lane, reg, element, per);
  }
  static constexpr Place b(int lane, int reg, int element, int per) {
    return place_of_b(lane, reg, element, per);
  }
  static constexpr Place c(int lane, int reg, int element, int per) {
    return place_of_c(lane, reg, element, per);
  }
};

/// mma.m8n8k4 of f16: a warp computes four 8 × 8 × 4 products, one a quadpair, which is lanes
/// 4q … 4q + 3 and 16 + 4q … 16 + 4q + 3. a by rows, b by columns.
struct QuadpairLanes {
  static constexpr int tiles = 4;
  static constexpr int tile_of(int lane) { return lane % 16 / 4; }
  /// A lane's number in its quadpair.
  static constexpr int rank_of(int lane) { return lane % 4 + 4 * (lane / 16); }
  static constexpr Place a(int lane, int reg, int element, int per) {
    return {rank_of(lane), per * reg + element};
  }
  static constexpr Place b(int lane, int reg, int element, int per) {
    return {per * reg + element, rank_of(lane)};
  }
  /// 8 registers of f32, 4 of f16.
  static constexpr Place c(int lane, int reg, int element, int per) {
    if (per == 2) return {rank_of(lane), 2 * reg + element};
    return {lane % 2 + (reg & 2) + 4 * (lane / 16), (reg & 4) + (lane & 2) + (reg & 1)};
  }
};

/// The metadata of sparse instructions: a word of a lane holds, lowest first, the positions kept in
/// groups of a; a group has 4 bits, whatever its elements. The lane that holds nothing has -1.
struct MetadataPlace {
  int row = -1;    ///< of a
  int group = -1;  ///< of that row; elements 4 · group … or 2 · group … (tf32)
};

/// `groups` of a row: 4 (m16n8k16 of f16, m16n8k8 of tf32), 8 (m16n8k32, m16n8k16) or 16 (m16n8k64).
/// The lanes are those that sparsity selector 0 names. `nibble` is 0 … 7.
constexpr MetadataPlace place_of_metadata(int lane, int nibble, int groups) {
  const int row = lane / 4;
  const int part = lane % 4;
  if (groups == 16) return {row + 8 * (part % 2), nibble + 8 * (part / 2)};
  if (part >= groups / 4) return {};
  return {row + 8 * (nibble / 4), nibble % 4 + 4 * part};
}

}  // namespace binade
