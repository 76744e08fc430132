// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels that run tiles through mma.sync: a warp loads the registers of its tile, or
// of its four (m8n8k4 of f16), runs the instruction and writes d. No assembly and no CUDA header here:
// tests run it on the CPU with a stand-in for the instruction.
#pragma once

#include "cuda/mma_lanes.h"
#include "cuda/tiles.h"

namespace binade {

/// The registers of a lane; an instruction uses the first ones of each. Unit: 32 bits, or 64 (f64).
template <class Unit>
struct MmaRegisters {
  Unit a[8]{}, b[4]{}, c[8]{}, d[8]{};
  std::uint32_t metadata = 0;  ///< of sparse instructions
};

/// How many registers an instruction has, and the elements of c and d in one.
struct MmaShape {
  int a = 0, b = 0, c = 0, d = 0;
  int per_c = 1, per_d = 1;
};

template <class Unit>
__device__ Unit unit_at(const unsigned char* row, int at) {
  return reinterpret_cast<const Unit*>(row)[at];
}

/// The word of metadata that a lane holds.
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

/// A block is one warp. `groups` of a sparse instruction's a are in a row; 0: it is dense.
template <class Lanes, MmaShape shape, class Unit, int groups = 0, class Instruction>
__device__ void run_mma_tile(const Tiles& tiles, Instruction instruction) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Quadpairs without a tile do the first one again: all lanes of a warp run the instruction.
  const std::uint64_t local =
      std::uint64_t{blockIdx.x} * Lanes::tiles + static_cast<std::uint64_t>(Lanes::tile_of(lane));
  const CrossedRows start = start_of(tiles, local < tiles.crossing.tiles ? local : 0);
  MmaRegisters<Unit> x;
  for (int reg = 0; reg < shape.a; ++reg) {  // a register here is one element: places of words
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
