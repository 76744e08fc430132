// SPDX-License-Identifier: Apache-2.0
//
// How wgmma reads its matrices, without swizzle and with k fastest in a and b: they lie in shared
// memory, cut into core matrices of 8 rows × 16 bytes, each contiguous in 128 bytes, and a 64-bit
// descriptor says where; the accumulators lie in the registers of four warps. From the PTX ISA,
// "Asynchronous warpgroup level matrix shared memory layout". Plain C++ without the instructions,
// tested on the CPU.
#pragma once

#include "cuda/mma_lanes.h"

namespace binade {

inline constexpr int wgmma_m = 64;
/// The smallest n. An element of d does not depend on n, so the kernels use this n for wgmma of
/// every n.
inline constexpr int wgmma_n = 8;
inline constexpr int wgmma_threads = 128;

inline constexpr int core_rows = 8, core_row_bytes = 16, core_bytes = 128;

/// Returns the distance in bytes from eight rows to the next eight. The core matrices of eight rows
/// lie one behind the other along k.
constexpr int core_group_stride(int row_bytes) { return row_bytes / core_row_bytes * core_bytes; }

/// Returns the offset in bytes, from the beginning of a matrix with rows of `row_bytes`, of byte
/// `byte` of row `row`.
constexpr int core_offset(int row, int byte, int row_bytes) {
  return row / core_rows * core_group_stride(row_bytes) + byte / core_row_bytes * core_bytes +
         row % core_rows * core_row_bytes + byte % core_row_bytes;
}

/// Returns the descriptor of a matrix at `address` of shared memory with rows of `row_bytes`. In
/// units of 16 bytes, bits 0–13 are the address, 16–29 the stride along k, 32–45 the stride to the
/// next eight rows; base offset (bits 49–51) and swizzle (62–63) are zero.
constexpr std::uint64_t wgmma_descriptor(std::uint32_t address, int row_bytes) {
  const auto stride = static_cast<std::uint64_t>(core_group_stride(row_bytes));
  return (address & 0x3FFFFU) >> 4 | std::uint64_t{core_bytes >> 4} << 16 | stride >> 4 << 32;
}

/// Returns the element of c and d, 64 × 8, that a place of a register of a thread holds; the
/// arguments are those of place_of_c for 128 threads. A thread has 4 registers of f32 or s32, or 2
/// of f16; a warp has 16 rows.
constexpr Place place_of_wgmma_c(int thread, int reg, int element, int per) {
  Place place = place_of_c(thread % 32, reg, element, per);
  place.row += 16 * (thread / 32);
  return place;
}

/// Returns the group of a, which has 64 rows, that a nibble of a thread's metadata describes; the
/// arguments are those of place_of_metadata for 128 threads.
constexpr MetadataPlace place_of_wgmma_metadata(int thread, int nibble, int groups) {
  MetadataPlace place = place_of_metadata(thread % 32, nibble, groups);
  if (place.row >= 0) place.row += 16 * (thread / 32);
  return place;
}

}  // namespace binade
