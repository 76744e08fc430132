// SPDX-License-Identifier: Apache-2.0
//
// Which element of a matrix each register of each lane holds in PTX's mma.sync and mma.sp. These
// functions are plain C++ without the instructions, so that a test without a GPU can show that each
// element is held once. A register of 32 bits holds 32 elements of 1 bit, 8 of 4 bits (s4 and u4),
// 4 of 8 bits (which FP6 and FP4 take, too), 2 of 16 or one of 32, the first in the lowest bits;
// f64 has registers of 64 bits. `lane` is 0 … 31, `reg` the number of the register, `element` that
// of the element in it, and `per` the elements in a register.
#pragma once

#include <cstdint>

namespace binade {

/// A place in a matrix.
struct Place {
  int row = 0, column = 0;

  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// Returns the element of a, 16 × k, that a place of a register holds; a lane has 16 k / (32 per)
/// registers. Of a sparse instruction's a only the kept elements count, half of the instruction's
/// k.
constexpr Place place_of_a(int lane, int reg, int element, int per) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * per + element + 4 * per * (reg / 2)};
}

/// Returns the element of b, k × 8; a lane has 8 k / (32 per) registers.
constexpr Place place_of_b(int lane, int reg, int element, int per) {
  return {lane % 4 * per + element + 4 * per * reg, lane / 4};
}

/// Returns the element of c and d, 16 × 8; a lane has 4 registers of f32, s32 or f64, or 2 of f16.
constexpr Place place_of_c(int lane, int reg, int element, int per) {
  return per == 1 ? Place{lane / 4 + 8 * (reg / 2), lane % 4 * 2 + reg % 2}
                  : Place{lane / 4 + 8 * reg, lane % 4 * 2 + element};
}

/// The lane map of mma.m16n8 and of m8n8k4 of f64. The latter has the upper half of the 16 rows:
/// only the first register of a and the first two of c and d.
struct M16n8Lanes {
  static constexpr int tiles = 1;  ///< number of tiles that a warp computes
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

/// The lane map of mma.m8n8k4 of f16, with a by rows and b by columns. A warp computes four
/// products of 8 × 8 × 4, one in each quadpair q, which is lanes 4q … 4q + 3 and 16 + 4q … 16 + 4q
/// + 3.
struct QuadpairLanes {
  static constexpr int tiles = 4;
  static constexpr int tile_of(int lane) { return lane % 16 / 4; }
  /// Returns a lane's number in its quadpair, 0 … 7.
  static constexpr int rank_of(int lane) { return lane % 4 + 4 * (lane / 16); }
  static constexpr Place a(int lane, int reg, int element, int per) {
    return {rank_of(lane), per * reg + element};
  }
  static constexpr Place b(int lane, int reg, int element, int per) {
    return {per * reg + element, rank_of(lane)};
  }
  /// c and d take 8 registers of f32, or 4 of f16.
  static constexpr Place c(int lane, int reg, int element, int per) {
    if (per == 2) return {rank_of(lane), 2 * reg + element};
    return {lane % 2 + (reg & 2) + 4 * (lane / 16), (reg & 4) + (lane & 2) + (reg & 1)};
  }
};

/// The group of a sparse instruction's a whose positions a nibble of a lane's metadata holds. A
/// group has one nibble (4 bits), whatever the type of its elements; the lowest nibble is number 0.
struct MetadataPlace {
  int row = -1;    ///< row of a; -1: the lane holds no metadata
  int group = -1;  ///< group in that row; it begins at element 4 · group, or 2 · group of tf32
};

/// Returns the group that nibble 0 … 7 of a lane's metadata describes, for sparsity selector 0.
/// `groups` in a row are 4 (m16n8k16 of f16, m16n8k8 of tf32), 8 (m16n8k32 of f16, m16n8k16 of
/// tf32) or 16 (m16n8k64). Lanes that selector 0 does not name hold nothing.
constexpr MetadataPlace place_of_metadata(int lane, int nibble, int groups) {
  const int row = lane / 4;
  const int part = lane % 4;
  if (groups == 16) return {row + 8 * (part % 2), nibble + 8 * (part / 2)};
  if (part >= groups / 4) return {};
  return {row + 8 * (nibble / 4), nibble % 4 + 4 * part};
}

/// A scale of a row of a or of a column of b.
struct ScalePlace {
  int line = -1;    ///< row or column; -1: the instruction does not read the byte
  int number = -1;  ///< number of the scale in that line, k ascending
};

/// Returns the scale that byte 0 … 3 of a lane's word with scales of a is, for the instruction's
/// selectors and `count` scales a row (scale_vec::NX). thread_id is 0 or 1 and names two lanes of
/// each four; byte_id is 0 … 3 for 1X, 0 or 2 for 2X, and 0 for 4X.
constexpr ScalePlace place_of_scale_a(int lane, int byte, int count, int byte_id, int thread_id) {
  const int number = byte - byte_id;
  if (lane % 4 / 2 != thread_id || number < 0 || number >= count) return {};
  return {lane / 4 + 8 * (lane % 2), number};
}
/// The same for b, where thread_id is 0 … 3 and names one lane of each four.
constexpr ScalePlace place_of_scale_b(int lane, int byte, int count, int byte_id, int thread_id) {
  const int number = byte - byte_id;
  if (lane % 4 != thread_id || number < 0 || number >= count) return {};
  return {lane / 4, number};
}

}  // namespace binade
