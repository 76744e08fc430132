// SPDX-License-Identifier: Apache-2.0
//
// Stream-K (Osama et al., "Stream-K: work-centric parallel decomposition for dense matrix-matrix
// multiplication on the GPU", PPoPP 2023): the iterations of K of all tiles of D stand in one line,
// which is cut evenly among workers, so that K is cut elsewhere in each tile of D. A model that
// says so becomes the usual one of each tile. Three tiles of four iterations and five workers:
//
//     tile        0 0 0 0 1 1 1 1 2 2 2 2
//     worker      0 0 0 1 1 1 2 2 3 3 4 4        K is cut at 3, at 2, at 2
//
// As CUTLASS cuts it (threadblock_swizzle_streamk.h, sm90_tile_scheduler_stream_k.hpp), where the
// shared tiles come first and the whole ones last; Triton's kernels have them the other way round.
// In all, a tile's parts are added in the order of K.
#pragma once

#include <cstdint>

#include "emulate/gemm_model.h"

namespace binade {

/// Returns whether a split is none of TileShares::stream, or one that can be.
constexpr bool can_stream(const Split& split) {
  if (split.shares != TileShares::stream) return split.stream == StreamK{};
  const StreamK& x = split.stream;
  const bool in_order =
      split.reduction == Reduction::ascending || split.reduction == Reduction::descending;
  return x.tile_m > 0 && x.tile_n > 0 && x.shared >= 0 && x.least >= 0 && x.groups > 0 &&
         split.parts % x.groups == 0 && in_order && split.first == 0 && split.until == 0;
}

/// Returns whether K is cut elsewhere in each tile of D.
constexpr bool is_streamed(const GemmModel& g) {
  return g.sum.splits[0].parts > 1 && g.sum.splits[0].shares == TileShares::stream;
}

namespace detail {

/// The line of the iterations that a group of workers shares.
struct StreamLine {
  std::int64_t workers = 1;
  std::int64_t each = 0, longer = 0;  ///< iterations of a worker; so many have one more
  std::int64_t of_tile = 1;           ///< iterations of a tile
  std::int64_t least = 0;

  /// Returns where worker `number` begins, if no worker has to do a least number.
  constexpr std::int64_t even(std::int64_t number) const {
    return number * each + (number < longer ? number : longer);
  }
  /// Returns whether a worker begins inside of a tile that begins at `tile`.
  constexpr bool cuts(std::int64_t number, std::int64_t tile) const {
    const std::int64_t at = even(number) - tile;
    return at > 0 && at < of_tile && at >= least && at <= of_tile - least;
  }
  /// Returns the first worker that begins behind an iteration.
  constexpr std::int64_t first_behind(std::int64_t at) const {
    std::int64_t low = 0, high = workers;  // even(high) is the end of the line
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      even(middle) > at ? high = middle : low = middle + 1;
    }
    return low;
  }
};

}  // namespace detail

/// Returns the split of one tile's K, of so many iterations, into the runs of its workers; of 1
/// part if one worker does all of it.
constexpr Split split_of_tile(const Split& split, std::int64_t iterations,
                              const ElementPlace& place) {
  const StreamK& s = split.stream;
  const auto tiles_of = [](std::uint64_t size, int tile) {
    const auto edge = static_cast<std::uint64_t>(tile);
    return static_cast<std::int64_t>((size + edge - 1) / edge);
  };
  const auto row = static_cast<std::int64_t>(place.row / static_cast<std::uint64_t>(s.tile_m));
  const auto column =
      static_cast<std::int64_t>(place.column / static_cast<std::uint64_t>(s.tile_n));
  const std::int64_t down = tiles_of(place.rows, s.tile_m);
  const std::int64_t across = tiles_of(place.columns, s.tile_n);
  const std::int64_t all = down * across;
  const std::int64_t shared = s.shared == 0 || s.shared > all ? all : s.shared;
  Split out = split;
  out.stream = {};
  out.parts = 1;
  out.shares = TileShares::full;
  const std::int64_t number = (s.by_columns ? column * down + row : row * across + column) -
                              (s.whole_first ? all - shared : 0);
  if (number < 0 || number >= shared) return out;
  const std::int64_t group = number % s.groups;
  const std::int64_t in_group = shared / s.groups + (group < shared % s.groups ? 1 : 0);
  const std::int64_t workers = split.parts / s.groups;
  const detail::StreamLine line{workers, in_group * iterations / workers,
                                in_group * iterations % workers, iterations, s.least};
  const std::int64_t tile = number / s.groups * iterations;
  std::int64_t first = line.first_behind(tile);
  while (first < workers && !line.cuts(first, tile) && line.even(first) < tile + iterations) {
    ++first;
  }
  std::int64_t last = first;
  while (last < workers && line.cuts(last, tile)) ++last;
  if (first == last) return out;
  out.parts = static_cast<int>(last - first) + 1;
  out.shares = TileShares::steps;
  const std::int64_t longer = line.longer > first ? line.longer - first : 0;
  out.ends = {static_cast<std::uint32_t>(line.even(first) - tile),
              static_cast<std::uint32_t>(line.each), static_cast<std::uint32_t>(longer)};
  return out;
}

}  // namespace binade
