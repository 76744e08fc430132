// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels that run tiles through mma.sync and mma.sp: a warp loads the registers of
// its tile, or of its four tiles (m8n8k4 of f16), executes the instruction and writes d. No
// assembly and no CUDA header is included here, so tests run it on the CPU with a stand-in for the
// instruction.
#pragma once

#include "cuda/mma_lanes.h"
#include "cuda/tiles.h"

namespace binade {

/// The registers of a lane; an instruction uses the first ones of each array. Unit is an unsigned
/// integer of 32 bits, or of 64 for f64.
template <class Unit>
struct MmaRegisters {
  Unit a[8]{}, b[4]{}, c[8]{}, d[8]{};
  std::uint32_t metadata = 0;  ///< read by sparse instructions only
  /// Read by instructions with scales of blocks only: the scales of a row of a and of a column of b
  /// (mma_lanes.h says of which), in the order of k from the lowest byte on. As the instruction's
  /// byte and thread selectors are 0, it takes the lowest 1, 2 or 4 bytes of a word (scale_vec 1X,
  /// 2X, 4X).
  std::uint32_t scales_a = 0, scales_b = 0;
};

/// The number of registers of each matrix in a lane, and the elements in one register of c and of
/// d.
struct MmaShape {
  int a = 0, b = 0, c = 0, d = 0;
  int per_c = 1, per_d = 1;
};

/// Returns unit number `at` of a row, which must be aligned for Unit.
template <class Unit>
__device__ Unit unit_at(const unsigned char* row, int at) {
  return reinterpret_cast<const Unit*>(row)[at];
}

/// Returns the 32 bits of metadata that a lane holds; place_of(nibble) is the MetadataPlace of each
/// of its eight groups of 4 bits.
template <class PlaceOf>
__device__ std::uint32_t metadata_of(const Tiles& tiles, const CrossedRows& start,
                                     const PlaceOf& place_of) {
  std::uint32_t out = 0;
  for (int nibble = 0; nibble < 8; ++nibble) {
    const MetadataPlace place = place_of(nibble);
    if (place.row < 0) continue;
    out |= kept_of(tiles, start, place.row, place.group) << (4 * nibble);
  }
  return out;
}

/// Runs the tiles of one warp, which is the whole block. `groups` is the number of groups in a row
/// of a sparse instruction's a; 0 means dense. `scales` is the number of scales of a row. Writes
/// nothing if instruction(registers) returns false; else counts each tile once in tiles.done.
template <class Lanes, MmaShape shape, class Unit, int groups = 0, int scales = 0,
          class Instruction>
__device__ void run_mma_tile(const Tiles& tiles, Instruction instruction) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // All lanes of a warp must execute the instruction, so quadpairs without a tile repeat the first
  // tile and discard the result.
  const std::uint64_t local =
      std::uint64_t{blockIdx.x} * Lanes::tiles + static_cast<std::uint64_t>(Lanes::tile_of(lane));
  const CrossedRows start = start_of(tiles, local < tiles.crossing.tiles ? local : 0);
  MmaRegisters<Unit> x;
  // Rows of a and b hold packed elements, so whole registers are copied: the lane map counts a
  // register as one element.
  for (int reg = 0; reg < shape.a; ++reg) {
    const Place place = Lanes::a(lane, reg, 0, 1);
    x.a[reg] = unit_at<Unit>(row_of_a(tiles, start, place.row), place.column);
  }
  for (int reg = 0; reg < shape.b; ++reg) {
    const Place place = Lanes::b(lane, reg, 0, 1);
    x.b[reg] = unit_at<Unit>(row_of_b(tiles, start, place.column), place.row);
  }
  for (int reg = 0; reg < shape.c; ++reg) {
    for (int element = 0; element < shape.per_c; ++element) {
      const Place place = Lanes::c(lane, reg, element, shape.per_c);
      x.c[reg] |= static_cast<Unit>(c_of(tiles, start, place.row, place.column)) << (16 * element);
    }
  }
  if constexpr (groups != 0) {
    x.metadata = metadata_of(
        tiles, start, [lane](int nibble) { return place_of_metadata(lane, nibble, groups); });
  }
  if constexpr (scales != 0) {
    const int row = place_of_scale_a(lane, 0, scales, 0, 0).line;
    const int column = place_of_scale_b(lane, 0, scales, 0, 0).line;
    if (row >= 0) x.scales_a = scales_of_a(tiles, start, row);
    if (column >= 0) x.scales_b = scales_of_b(tiles, start, column);
  }
  const bool ran = instruction(x);
  if (!ran || local >= tiles.crossing.tiles) return;
  for (int reg = 0; reg < shape.d; ++reg) {
    for (int element = 0; element < shape.per_d; ++element) {
      const Place place = Lanes::c(lane, reg, element, shape.per_d);
      const Unit bits = shape.per_d == 1 ? x.d[reg] : x.d[reg] >> (16 * element) & 0xFFFF;
      d_of(tiles, local, place.row, place.column) = bits;
    }
  }
  if (Lanes::c(lane, 0, 0, shape.per_d) == Place{}) atomicAdd(tiles.done, 1ULL);
}

}  // namespace binade
