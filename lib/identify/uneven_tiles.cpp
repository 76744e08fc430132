// SPDX-License-Identifier: Apache-2.0
//
// Searches each block of D by itself, among cuts of K at multiples of the tiles that kernels have:
// first without a cut or with one, then with two. Then tries which workers and tiles would cut so.
#include "lib/identify/uneven_tiles.h"

#include <algorithm>
#include <array>
#include <optional>

#include "emulate/stream_k.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/identification.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// Blocks of D, which lie in a tile as a whole: rows and columns of tiles are multiples of this.
constexpr std::size_t block_edge = 64;
/// Tiles of K that are tried, the largest first, so that cuts are told in the largest unit.
constexpr std::array k_tiles{128, 64, 32};
constexpr int most_tiles_of_k = 256, most_tiles_cut_twice = 64;
/// Blocks are searched by the cores of so many of the nearest models, and D is not searched at all
/// if it has more blocks.
constexpr std::size_t cores_for_blocks = 4, most_blocks = 1024;
/// Workers that are tried, and ways to make the same cuts that are told.
constexpr int most_workers = 1024;
constexpr std::size_t most_streams = 8;

/// Returns a block of D with its rows of A and columns of B; C and the bias likewise.
KernelRun block_of(const KernelRun& run, std::size_t row, std::size_t column) {
  KernelRun out;
  out.m = std::min(block_edge, run.m - row);
  out.n = std::min(block_edge, run.n - column);
  out.k = run.k;
  const auto lines = [&](const std::vector<std::uint64_t>& from, std::size_t first,
                         std::size_t count) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first * run.k);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count * run.k));
  };
  out.a = lines(run.a, row, out.m);
  out.b = lines(run.b, column, out.n);
  for (std::size_t i = 0; i < out.m; ++i) {
    for (std::size_t j = 0; j < out.n; ++j) {
      const std::size_t at = (row + i) * run.n + column + j;
      out.d.push_back(run.d[at]);
      if (!run.c.empty()) out.c.push_back(run.c[at]);
    }
  }
  const auto some = [](const std::vector<std::uint64_t>& from, std::size_t first,
                       std::size_t count) {
    if (from.empty()) return from;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  out.bias = some(run.bias, column, out.n);
  out.a_scale = some(run.a_scale, row, out.m);
  out.b_scale = some(run.b_scale, column, out.n);
  return out;
}

/// Returns models with K cut at multiples of a tile, the endings of the nearest models of their
/// cores. A core's first nearest model stands for it.
std::vector<Candidate> models_with_cuts(const std::vector<Candidate>& cores, std::size_t k,
                                        int cuts) {
  std::vector<Candidate> out;
  for (const Candidate& core : cores) {
    Candidate next = core;
    if (cuts == 1) out.push_back(next);
    for (const int tile : k_tiles) {
      const int units = (static_cast<int>(k) + tile - 1) / tile;
      if (tile % core.model.k != 0) continue;
      if (units > (cuts == 1 ? most_tiles_of_k : most_tiles_cut_twice)) continue;
      for (int first = 1; first < units; ++first) {
        const int last = cuts == 1 ? first + 1 : units;
        for (int second = first + 1; second <= last; ++second) {
          if (cuts == 2 && second == units) continue;
          Split& split = next.model.sum.splits[0];
          split = {.parts = cuts + 1, .tile = tile, .shares = TileShares::listed};
          split.ends = {static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(cuts == 1 ? 0 : second)};
          out.push_back(next);
        }
      }
    }
  }
  return out;
}

/// Returns the models of the nearest cores with K in one chain.
std::vector<Candidate> nearest_cores(const Identification& x) {
  std::vector<Candidate> out;
  for (const Verdict& verdict : x.result.rejected) {
    Candidate one = x.candidate(verdict);
    const bool known =
        std::ranges::any_of(out, [&](const Candidate& other) { return other.core == one.core; });
    if (known || one.model.k == 1) continue;
    const bool c_first = one.model.sum.c_first;
    one.model.sum = x.core(one).plain.sum;
    one.model.sum.c_first = c_first;
    out.push_back(one);
    if (out.size() == cores_for_blocks) break;
  }
  return out;
}

/// Where K is cut in a tile, in positions of K.
using Cuts = std::vector<std::int64_t>;

/// Of a split into listed runs, or into steps.
Cuts cuts_of(const Split& split) {
  Cuts out;
  for (int i = 0; i + 1 < split.parts; ++i) {
    const std::int64_t longer = split.ends[2];
    const std::int64_t end =
        split.shares == TileShares::listed
            ? split.ends[static_cast<std::size_t>(i)]
            : split.ends[0] + std::int64_t{i} * split.ends[1] + std::min<std::int64_t>(i, longer);
    out.push_back(end * split.tile);
  }
  return out;
}

/// Cuts of the tiles of D, of so many rows and columns each.
struct TileCuts {
  std::size_t rows = 0, columns = 0;  ///< of tiles
  std::vector<Cuts> cuts;             ///< row after row
};

/// Returns the cuts of tiles of so many blocks; nothing if blocks of a tile differ.
std::optional<TileCuts> cuts_of(const UnevenTiles& x, std::size_t down, std::size_t across) {
  const std::size_t rows = x.of_block.size() / x.columns;
  TileCuts out{(rows + down - 1) / down, (x.columns + across - 1) / across, {}};
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t j = 0; j < out.columns; ++j) {
      const std::size_t model = x.of_block[i * down * x.columns + j * across];
      for (std::size_t row = i * down; row < std::min(rows, (i + 1) * down); ++row) {
        for (std::size_t at = j * across; at < std::min(x.columns, (j + 1) * across); ++at) {
          if (x.of_block[row * x.columns + at] != model) return std::nullopt;
        }
      }
      out.cuts.push_back(cuts_of(x.models[model].model.sum.splits[0]));
    }
  }
  return out;
}

/// Returns whether stream-K cuts every tile where it was found to be cut.
bool makes(const Split& split, const TileCuts& found, const KernelRun& run) {
  const std::int64_t iterations = (static_cast<std::int64_t>(run.k) + split.tile - 1) / split.tile;
  for (std::size_t at = 0; at < found.cuts.size(); ++at) {
    const ElementPlace place{at / found.columns * static_cast<std::size_t>(split.stream.tile_m),
                             at % found.columns * static_cast<std::size_t>(split.stream.tile_n),
                             run.m, run.n};
    if (cuts_of(split_of_tile(split, iterations, place)) != found.cuts[at]) return false;
  }
  return true;
}

/// Adds to `out` the numbers of workers and of shared tiles with which a split makes the cuts.
void add_workers(Split split, const TileCuts& found, const KernelRun& run,
                 std::vector<Split>& out) {
  const int all = static_cast<int>(found.cuts.size());
  // No tile is cut more than twice.
  for (int workers = 2; workers <= std::min(3 * all, most_workers); ++workers) {
    if (workers % split.stream.groups != 0) continue;
    split.parts = workers;
    const int over = all % workers;
    for (const int shared : {0, over, over + workers}) {
      if (shared >= all) continue;
      for (const bool whole_first : {false, true}) {
        if (shared == 0 && whole_first) continue;
        split.stream.shared = shared;
        split.stream.whole_first = whole_first;
        const bool known = std::ranges::find(out, split) != out.end();
        if (!known && makes(split, found, run)) out.push_back(split);
        if (out.size() == most_streams) return;
      }
    }
  }
}

/// Returns the splits that make the cuts, of CUTLASS 3's groups and least runs only if `grouped`.
std::vector<Split> streams_of(const UnevenTiles& x, const KernelRun& run, bool grouped) {
  constexpr std::array<std::size_t, 3> edges{4, 2, 1};  // in blocks
  constexpr int most_groups = 8, least_run = 8;         // CUTLASS's
  const std::size_t rows = x.of_block.size() / x.columns;
  std::vector<Split> out;
  for (const std::size_t down : edges) {
    for (const std::size_t across : edges) {
      poll();
      // A smaller tile spans as much of D.
      if (down / 2 >= rows || across / 2 >= x.columns) continue;
      const std::optional<TileCuts> found = cuts_of(x, down, across);
      if (!found || found->cuts.size() < 2) continue;
      for (const int tile : k_tiles) {
        const auto fits = [&](const Cuts& cuts) {
          return std::ranges::all_of(cuts, [&](std::int64_t at) { return at % tile == 0; });
        };
        if (!std::ranges::all_of(found->cuts, fits)) continue;
        for (int how = 0; how < (grouped ? 4 * most_groups : 2); ++how) {
          Split split{.tile = tile, .shares = TileShares::stream};
          split.stream = {.tile_m = static_cast<int>(down * block_edge),
                          .tile_n = static_cast<int>(across * block_edge),
                          .by_columns = how % 2 != 0,
                          .groups = how / 4 + 1,
                          .least = how / 2 % 2 * least_run};
          add_workers(split, *found, run, out);
        }
      }
    }
  }
  return out;
}

/// Returns whether a model gives every element of a product; first some that lie apart.
bool gives_all(const GemmModel& g, const KernelRun& run) {
  constexpr std::size_t first = 64;
  const auto is_right = [&](std::size_t at, std::uint64_t d) {
    return is_same_result(d, run.d[at], g.epilogue.out, any_nan_fits(g));
  };
  for (std::size_t i = 0; i < first; ++i) {
    const std::size_t at = (i * 0x9E3779B97F4A7C15U >> 32) * run.size() >> 32;
    if (!is_right(at, gemm_element(g, run.element(at)))) return false;
  }
  const std::vector<std::uint64_t> d = gemm(g, operands_of(run));
  for (std::size_t at = 0; at < d.size(); ++at) {
    if (!is_right(at, d[at])) return false;
  }
  return true;
}

}  // namespace

UnevenTiles uneven_tiles(const Identification& x) {
  const KernelRun& run = x.runs[0];
  const std::size_t rows = (run.m + block_edge - 1) / block_edge,
                    columns = (run.n + block_edge - 1) / block_edge;
  if (rows * columns < 2 || rows * columns > most_blocks) return {};
  std::vector<Candidate> cores = nearest_cores(x);
  UnevenTiles out{{}, columns, {}};
  for (std::size_t at = 0; at < rows * columns; ++at) {
    const std::vector<KernelRun> one{
        block_of(run, at / columns * block_edge, at % columns * block_edge)};
    const auto explained = [&](const std::vector<Candidate>& models) -> std::optional<Candidate> {
      if (models.empty()) return std::nullopt;
      const SearchResult found = search(x.cores, models, one, {.nearest = 0});
      if (found.explaining.empty()) return std::nullopt;
      return models[found.explaining[0].candidate];
    };
    std::optional<Candidate> model = explained(out.models);
    if (!model) model = explained(models_with_cuts(cores, run.k, 1));
    if (!model) model = explained(models_with_cuts(cores, run.k, 2));
    if (!model) return {};
    std::erase_if(cores, [&](const Candidate& core) { return core.core != model->core; });
    const auto known = std::ranges::find_if(
        out.models, [&](const Candidate& y) { return y.model == model->model; });
    out.of_block.push_back(static_cast<std::size_t>(known - out.models.begin()));
    if (known == out.models.end()) out.models.push_back(*model);
  }
  return out;
}

bool search_streams(Identification& x) {
  const KernelRun& run = x.runs[0];
  if (x.runs.size() != 1 || run.dots || x.result.rejected.empty()) return false;
  x.tiles = uneven_tiles(x);
  if (x.tiles->models.size() < 2) return false;
  std::vector<Split> splits = streams_of(*x.tiles, run, false);
  if (splits.empty()) splits = streams_of(*x.tiles, run, true);
  if (splits.empty()) return false;
  for (const Verdict& rejected : x.result.rejected) {
    Candidate candidate = x.candidate(rejected);
    Accumulation plain = x.core(candidate).plain.sum;
    plain.c_first = candidate.model.sum.c_first;
    if (candidate.model.sum != plain || is_smooth(candidate.model.epilogue.activation)) continue;
    poll();
    candidate.model.sum.splits[0] = splits[0];
    x.result.tried += 1;
    if (!gives_all(candidate.model, run)) continue;
    Verdict verdict{.candidate = x.candidates.size(), .compared = run.size(), .equal = run.size()};
    for (const Split& split : splits) {
      if (&split != &splits[0]) verdict.same.push_back(x.candidates.size());
      candidate.model.sum.splits[0] = split;
      x.candidates.push_back(candidate);
    }
    x.result.explaining.push_back(verdict);
  }
  return !x.result.explaining.empty();
}

}  // namespace binade
