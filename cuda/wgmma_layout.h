// SPDX-License-Identifier: Apache-2.0
//
// How wgmma wants its matrices, without swizzle and with k fastest in both: in shared memory cut into
// core matrices of 8 rows × 16 bytes, each 128 bytes in one piece, described by a 64-bit descriptor;
// accumulators in the registers of four warps. PTX ISA, "Asynchronous warpgroup level matrix shared
// memory layout". Data apart from the instructions, tested on the CPU.
#pragma once

#include "cuda/mma_lanes.h"

namespace binade {

inline constexpr int wgmma_m = 64;
/// The narrowest. n takes no part in what a dot is, so every n's dots are computed with this one.
inline constexpr int wgmma_n = 8;
inline constexpr int wgmma_threads = 128;

inline constexpr int core_rows = 8, core_row_bytes = 16, core_bytes = 128;

/// From eight rows to the next eight; the core matrices between them lie one behind the other along k.
constexpr int core_group_stride(int row_bytes) { return row_bytes / core_row_bytes * core_bytes; }

/// Where byte `byte` of row `row` lies, of a matrix with rows of `row_bytes`.
constexpr int core_offset(int row, int byte, int row_bytes) {
  return row / core_rows * core_group_stride(row_bytes) + byte / core_row_bytes * core_bytes +
         row % core_rows * core_row_bytes + byte % core_row_bytes;
}

/// Bits 0–13 address, 16–29 stride along k, 32–45 stride to the next eight rows, all in 16 bytes;
/// 49–51 base offset and 62–63 swizzle are zero.
constexpr std::uint64_t wgmma_descriptor(std::uint32_t address, int row_bytes) {
  const auto stride = static_cast<std::uint64_t>(core_group_stride(row_bytes));
  return (address & 0x3FFFFU) >> 4 | std::uint64_t{core_bytes >> 4} << 16 | stride >> 4 << 32;
}

/// c and d, 64 × 8, in 4 registers of f32 or 2 of f16 of each of 128 threads: a warp has 16 rows.
constexpr Place place_of_wgmma_c(int thread, int reg, int element, int per) {
  Place place = place_of_c(thread % 32, reg, element, per);
  place.row += 16 * (thread / 32);
  return place;
}

/// As `place_of_metadata`, of 64 rows.
constexpr MetadataPlace place_of_wgmma_metadata(int thread, int nibble, int groups) {
  MetadataPlace place = place_of_metadata(thread % 32, nibble, groups);
  if (place.row >= 0) place.row += 16 * (thread / 32);
  return place;
}

}  // namespace binade
