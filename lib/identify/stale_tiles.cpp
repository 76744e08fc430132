// SPDX-License-Identifier: Apache-2.0
//
// What each tile would add to the sums if it held an earlier one is held against what D differs by.
#include "lib/identify/stale_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/identify/change_fit.h"

namespace binade {
namespace {

/// A tile of K that holds the one `back` tiles before it; `tile` 0: each tile that has one.
struct StaleTile {
  bool of_a = true;
  std::size_t size = 0, back = 0, tile = 0;

  bool is_stale(std::size_t k) const { return tile == 0 ? k >= back * size : k / size == tile; }
};

Change change_of(const KernelCase& given, const StaleTile& x) {
  const char* const name = x.of_a ? "A" : "B";
  const std::size_t first = x.tile * x.size, from = first - (x.tile == 0 ? 0 : x.back * x.size);
  const std::size_t end = std::min(first + x.size, given.run.k);
  Change out{
      .words = x.tile == 0
                   ? fmt::format("each tile of {} k of {} holds the one {} before it, as one that "
                                 "is read before it is written",
                                 x.size, name, x.back)
                   : fmt::format("k {}..{} of {} hold its k {}..{}, as a tile that is read before "
                                 "it is written",
                                 first, end - 1, name, from, from + (end - first) - 1)};
  (x.of_a ? out.a : out.b) = [&codes = x.of_a ? given.run.a : given.run.b, n = given.run.k, x](
                                 std::size_t line, std::size_t k) {
    return codes[line * n + k - (x.is_stale(k) ? x.back * x.size : 0)];
  };
  return out;
}

/// The operands and what D differs by, in numbers, of the elements that are finite.
struct Differences {
  std::vector<double> a, b;
  std::vector<std::size_t> elements;
  std::vector<double> by;  ///< of each of these elements, by the sum alone
};

Differences differences(const KernelCase& part) {
  const KernelRun& run = part.run;
  const NearSums sums = near_sums(part);
  Differences out;
  for (const std::uint64_t code : run.a) out.a.push_back(number_in(code, part.types.a));
  for (const std::uint64_t code : run.b) out.b.push_back(number_in(code, part.types.b));
  for (std::size_t at = 0; at < run.size(); ++at) {
    const double by = (sums.found[at] - sums.exact[at]) / part.epilogue.alpha;
    if (!std::isfinite(by)) continue;
    out.elements.push_back(at);
    out.by.push_back(by);
  }
  return out;
}

}  // namespace

std::vector<Change> stale_tiles(const KernelCase& given, const KernelCase& part) {
  const KernelRun& run = part.run;
  if (part.epilogue.alpha == 0) return {};
  const Differences x = differences(part);
  double before = 0;
  for (const double by : x.by) before += by * by;
  double least = before / 16;
  StaleTile best;
  for (const std::size_t size : {8, 16, 32, 64, 128}) {
    for (const std::size_t back : {1, 2, 3}) {
      if (back * size >= run.k) continue;
      const std::size_t tiles = (run.k + size - 1) / size;
      for (const bool of_a : {true, false}) {
        std::vector<double> left(tiles, 0);
        for (std::size_t i = 0; i < x.elements.size(); ++i) {
          const double* const row = x.a.data() + run.row(x.elements[i]) * run.k;
          const double* const column = x.b.data() + run.column(x.elements[i]) * run.k;
          double all = 0;
          for (std::size_t tile = back; tile < tiles; ++tile) {
            double more = 0;
            for (std::size_t k = tile * size; k < std::min(run.k, (tile + 1) * size); ++k) {
              const std::size_t from = k - back * size;
              more += of_a ? (row[from] - row[k]) * column[k] : (column[from] - column[k]) * row[k];
            }
            left[tile] += (x.by[i] - more) * (x.by[i] - more);
            all += more;
          }
          left[0] += (x.by[i] - all) * (x.by[i] - all);
        }
        for (std::size_t tile = 0; tile < tiles; ++tile) {
          if ((tile > 0 && tile < back) || !(left[tile] < least)) continue;
          least = left[tile];
          best = {of_a, size, back, tile};
        }
      }
    }
  }
  if (best.size == 0) return {};
  return {change_of(given, best)};
}

}  // namespace binade
