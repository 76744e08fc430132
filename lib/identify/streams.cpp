// SPDX-License-Identifier: Apache-2.0
//
// Every division of a table is tried on a few elements that lie apart. In one element many
// divisions cut K alike, so that each cut is computed once; few divisions are left after some
// elements, and those are tried on all.
#include "lib/identify/streams.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "emulate/stream_k.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/identification.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

using Clock = std::chrono::steady_clock;

/// Rows and columns of tiles, the usual ones first, and their tiles of K: of divisions that cut
/// alike the first is told.
constexpr std::array tile_edges{128, 64, 256, 32};
constexpr std::array tiles_of_k{64, 32, 128, 16};
constexpr std::int64_t most_iterations = 512;  // of a tile
constexpr std::int64_t most_workers = 1024;
/// CUTLASS 3's groups of workers, and the least iterations that it leaves to one.
constexpr int most_groups = 8, least_run = 8;
constexpr std::size_t most_cores_tried = 8;
/// Elements that every division is tried on, one after the other, until it is wrong: first some
/// that are wrong where K is not cut, which tell most.
constexpr std::size_t most_probes = 640, most_wrong_probes = 512;
/// Where more ways to cut D fit those, the product does not tell which one it was.
constexpr std::size_t most_ways = 256;
constexpr std::size_t most_alike_told = 8;

/// Where K is cut in a tile, in positions of K: after the first part, after so many more each, and
/// of how many of these parts one tile of K more; and the parts.
using Cuts = std::array<std::int64_t, 5>;

Cuts cuts_of(const Split& split) {
  if (split.parts == 1) return {};
  const std::int64_t most = split.parts - 2;
  const std::int64_t longer = std::min<std::int64_t>(split.ends[2], most);
  return {std::int64_t{split.ends[0]} * split.tile,
          most == 0 ? 0 : (split.ends[1] + (longer == most ? 1 : 0)) * std::int64_t{split.tile},
          longer == most ? 0 : longer, longer == most || longer == 0 ? 0 : split.tile, split.parts};
}

std::int64_t iterations_of(const Split& split, const KernelRun& run) {
  return (static_cast<std::int64_t>(run.k) + split.tile - 1) / split.tile;
}

/// Some of so many places, each far from those before it, the same ones each time.
std::vector<std::size_t> scattered_places(std::size_t size, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t i = 1; i <= std::min(size, most); ++i) {
    out.push_back((i * 0x9E3779B97F4A7C15U >> 32) * size >> 32);
  }
  return out;
}

bool is_right(const GemmModel& g, const KernelRun& run, std::size_t at, std::uint64_t d) {
  return is_same_result(d, run.d[at], g.epilogue.out, any_nan_fits(g));
}

/// One model of a tile, tried on the elements of a run with K cut in many places.
class Probe {
 public:
  Probe(GemmModel plain, const KernelRun& run) : model_(std::move(plain)), run_(run) {
    const std::vector<std::uint64_t> uncut = gemm(model_, operands_of(run));
    std::vector<std::size_t> wrong;
    for (std::size_t at = 0; at < run.size(); ++at) {
      if (!is_right(model_, run, at, uncut[at])) wrong.push_back(at);
    }
    for (const std::size_t i : scattered_places(wrong.size(), most_wrong_probes)) {
      places_.push_back(wrong[i]);
    }
    for (const std::size_t at : scattered_places(run.size(), most_probes - places_.size())) {
      places_.push_back(at);
    }
    right_.resize(places_.size());
  }

  /// Returns whether a division gives all elements that are probed.
  bool fits(const Split& split) {
    const std::int64_t iterations = iterations_of(split, run_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::size_t at = places_[i];
      const Split cut = split_of_tile(split, iterations,
                                      ElementPlace{run_.row(at), run_.column(at), run_.m, run_.n});
      const auto [known, is_new] = right_[i].try_emplace(cuts_of(cut), false);
      if (is_new) {
        GemmModel g = model_;
        g.sum.splits[0] = cut;
        known->second = is_right(g, run_, at, gemm_element(g, run_.element(at)));
      }
      if (!known->second) return false;
    }
    return true;
  }

 private:
  GemmModel model_;
  const KernelRun& run_;
  std::vector<std::size_t> places_;
  std::vector<std::map<Cuts, bool>> right_;  ///< of each place
};

/// Which divisions are tried: with shared tiles as CUTLASS and Triton count them, with any number
/// of them, and of CUTLASS 3's groups and least runs.
enum class Streams : std::uint8_t { usual, any_shared, grouped };

/// Workers of the unusual ones share at most so many tiles, and cut each so often.
constexpr std::int64_t most_shared = 64, most_cuts = 3;

/// Calls visit(shared) for the numbers of tiles that so many workers may share.
template <class Visit>
void each_shared(std::int64_t all, std::int64_t workers, Streams which, const Visit& visit) {
  const std::int64_t over = all % workers;
  if (which == Streams::any_shared) {
    const std::int64_t first = std::max<std::int64_t>(1, workers / (most_cuts + 1));
    for (std::int64_t n = first; n < std::min(all, most_shared); ++n) {
      if (n != over && n != over + workers) visit(n);
    }
    return;
  }
  visit(all);
  if (over != 0) visit(over);
  if (over + workers < all) visit(over + workers);
}

/// Calls visit(split) for the divisions of a table, the plainest first, until is_over().
/// `like` has the order in which parts are added.
template <class Visit, class Over>
void each_stream(const KernelRun& run, int unit, Streams which, const Split& like,
                 const Visit& visit, const Over& is_over) {
  const auto count = [](std::size_t size, int edge) {
    return (static_cast<std::int64_t>(size) + edge - 1) / edge;
  };
  // Half of such a tile divides D no otherwise.
  const auto is_larger = [](int edge, std::size_t size) {
    return edge > tile_edges.back() && static_cast<std::size_t>(edge) / 2 >= size;
  };
  const bool grouped = which == Streams::grouped;
  Split split = like;
  split.shares = TileShares::stream;
  for (int how = grouped ? 2 : 0; how < (grouped ? 4 * most_groups : 2); ++how) {
    for (const int tile : tiles_of_k) {
      split.tile = tile;
      const std::int64_t iterations = iterations_of(split, run);
      if (tile % unit != 0 || iterations < 2 || iterations > most_iterations) continue;
      for (const int rows : tile_edges) {
        for (const int columns : tile_edges) {
          if (is_larger(rows, run.m) || is_larger(columns, run.n)) continue;
          const std::int64_t down = count(run.m, rows), across = count(run.n, columns);
          const std::int64_t all = down * across;
          if (all < 2 || (how % 2 != 0 && (down == 1 || across == 1))) continue;
          split.stream = {.tile_m = rows,
                          .tile_n = columns,
                          .by_columns = how % 2 != 0,
                          .groups = how / 4 + 1,
                          .least = how / 2 % 2 * least_run};
          const std::int64_t most_of_tile = which == Streams::usual ? iterations : most_cuts + 1;
          const int workers = static_cast<int>(std::min(most_workers, all * most_of_tile));
          for (split.parts = 2; split.parts <= workers; ++split.parts) {
            if (split.parts % split.stream.groups != 0) continue;
            each_shared(all, split.parts, which, [&](std::int64_t shared) {
              // Two parts are the same in either order.
              if (split.reduction == Reduction::descending && split.parts <= shared) return;
              split.stream.shared = shared == all ? 0 : static_cast<int>(shared);
              for (const bool whole_first : {false, true}) {
                if (shared == all && whole_first) continue;
                split.stream.whole_first = whole_first;
                visit(split);
              }
            });
          }
          if (is_over()) return;
        }
      }
    }
  }
}

/// Returns where a division cuts K in each square of D that no tile divides.
std::vector<Cuts> map_of(const Split& split, const KernelRun& run) {
  constexpr auto edge = static_cast<std::size_t>(*std::ranges::min_element(tile_edges));
  std::vector<Cuts> out;
  for (std::size_t row = 0; row < run.m; row += edge) {
    for (std::size_t column = 0; column < run.n; column += edge) {
      out.push_back(cuts_of(split_of_tile(split, iterations_of(split, run),
                                          ElementPlace{row, column, run.m, run.n})));
    }
  }
  return out;
}

bool gives_all(const GemmModel& g, const KernelRun& run) {
  const std::vector<std::uint64_t> d = gemm(g, operands_of(run));
  for (std::size_t at = 0; at < d.size(); ++at) {
    if (!is_right(g, run, at, d[at])) return false;
  }
  return true;
}

/// Returns the models of the nearest cores with K in one chain and each of their endings.
std::vector<Candidate> uncut_models(const Identification& x) {
  std::vector<Candidate> out;
  std::vector<std::size_t> cores;
  for (const Verdict& verdict : x.result.rejected) {
    const Candidate& one = x.candidate(verdict);
    if (is_smooth(one.model.epilogue.activation)) continue;
    Accumulation plain = x.core(one).plain.sum;
    plain.c_first = one.model.sum.c_first;
    if (one.model.sum != plain) continue;
    if (std::ranges::find(cores, one.core) == cores.end()) {
      if (cores.size() == most_cores_tried) continue;
      cores.push_back(one.core);
    }
    out.push_back(one);
  }
  return out;
}

/// Returns some divisions, those together that cut this D alike.
std::vector<std::vector<Split>> ways_of(const KernelRun& run, const std::vector<Split>& splits) {
  std::vector<std::vector<Split>> out;
  std::map<std::vector<Cuts>, std::size_t> known;
  for (const Split& split : splits) {
    poll();
    const auto [way, is_new] = known.try_emplace(map_of(split, run), out.size());
    if (is_new) out.emplace_back();
    out[way->second].push_back(split);
    if (out.size() > most_ways) break;
  }
  return out;
}

/// Adds the models of some ways to cut D that give all elements to the result.
void add_streams(Identification& x, Candidate model, const std::vector<std::vector<Split>>& ways) {
  const KernelRun& run = x.runs[0];
  for (const std::vector<Split>& way : ways) {
    poll();
    x.result.tried += 1;
    model.model.sum.splits[0] = way[0];
    if (!gives_all(model.model, run)) continue;
    Verdict verdict{.candidate = x.candidates.size(), .compared = run.size(), .equal = run.size()};
    for (std::size_t i = 0; i < std::min(way.size(), most_alike_told); ++i) {
      if (i > 0) verdict.same.push_back(x.candidates.size());
      model.model.sum.splits[0] = way[i];
      x.candidates.push_back(model);
    }
    x.result.explaining.push_back(verdict);
  }
}

}  // namespace

bool search_streams(Identification& x, Clock::time_point end) {
  const KernelRun& run = x.runs[0];
  if (x.runs.size() != 1 || run.dots || !x.result.explaining.empty()) return false;
  const std::vector<Candidate> models = uncut_models(x);
  for (const Streams which : {Streams::usual, Streams::any_shared, Streams::grouped}) {
    for (const Reduction reduction : {Reduction::ascending, Reduction::descending}) {
      std::vector<std::vector<Split>> found(models.size());
      parallel_for(models.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
        Probe probe(models[i].model, run);
        each_stream(
            run, models[i].model.k, which, {.reduction = reduction},
            [&](const Split& split) {
              if (probe.fits(split)) found[i].push_back(split);
            },
            [&] { return Clock::now() > end; });
      });
      if (Clock::now() > end) return false;
      std::vector<std::vector<std::vector<Split>>> ways;
      for (const std::vector<Split>& splits : found) ways.push_back(ways_of(run, splits));
      const auto are_many = [](const auto& some) { return some.size() > most_ways; };
      if (std::ranges::any_of(ways, are_many)) return false;
      for (std::size_t i = 0; i < models.size(); ++i) add_streams(x, models[i], ways[i]);
      if (!x.result.explaining.empty()) return true;
    }
  }
  return false;
}

}  // namespace binade
