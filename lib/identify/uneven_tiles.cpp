// SPDX-License-Identifier: Apache-2.0
//
// Searches each block of D by itself, among cuts of K at multiples of the tiles that kernels have:
// first without a cut or with one, then with two.
#include "lib/identify/uneven_tiles.h"

#include <algorithm>
#include <array>
#include <optional>

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
  const auto some = [](const auto& from, std::size_t first, std::size_t count) {
    if (from.empty()) return from;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  out.bias = some(run.bias, column, out.n);
  out.a_scale = some(run.a_scale, row, out.m);
  out.b_scale = some(run.b_scale, column, out.n);
  const std::size_t runs = run.runs.count(run.k);
  out.runs = {run.runs.length, some(run.runs.a, row * runs, out.m * runs),
              some(run.runs.b, column * runs, out.n * runs)};
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
    if (known) continue;
    const bool c_first = one.model.sum.c_first;
    one.model.sum = x.core(one).plain.sum;
    one.model.sum.c_first = c_first;
    out.push_back(one);
    if (out.size() == cores_for_blocks) break;
  }
  return out;
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

}  // namespace binade
