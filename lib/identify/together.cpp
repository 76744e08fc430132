// SPDX-License-Identifier: Apache-2.0
//
// Searches again on what the nearest model leaves unexplained; or tries the sums of a ring, which
// begin with another part in each chunk of D, and those of tiles whose K is cut elsewhere each.
#include "lib/identify/together.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/uneven_tiles.h"

namespace binade {
namespace {

constexpr std::size_t most_parts = 4;
constexpr std::size_t most_searched = 512;
/// Rings are tried of so many cores, those of the nearest models, on so many elements of a row.
constexpr std::size_t most_cores = 8, least_of_row = 8, most_of_row = 64;
constexpr std::size_t most_rings = 16;  // of which all elements are compared
/// If models that are independently right now and then would leave this many elements uncovered on
/// average, then the probability that they leave none is at most e^-20.
constexpr double least_uncovered = 20;
/// Of models that are right by chance in all that others leave, one in e^12 would be told.
constexpr double least_evidence = 12;
/// Elements that some models explain, but too few to tell which, are at most one in so many.
constexpr std::size_t undecided_of = 8;

using Mask = std::vector<bool>;

/// Returns which elements a candidate explains.
Mask mask_of(const Identification& x, const Candidate& candidate) {
  const KernelRun& run = x.runs[0];
  const GemmModel& g = candidate.model;
  const std::vector<std::uint64_t> d = gemm(g, operands_of(run));
  Mask right(run.size());
  for (std::size_t at = 0; at < run.size(); ++at) {
    right[at] = is_same_result(d[at], run.d[at], g.epilogue.out, any_nan_fits(g));
  }
  return right;
}

/// Returns the elements that are not covered, as dot products; at most most_searched of them, which
/// are enough to search by.
KernelRun rest_of(const KernelRun& run, const Mask& covered) {
  std::vector<std::size_t> elements;
  for (std::size_t at = 0; at < run.size() && elements.size() < most_searched; ++at) {
    if (!covered[at]) elements.push_back(at);
  }
  return dots_of(run, elements);
}

struct Cover {
  std::vector<Candidate> candidates;
  std::vector<Mask> masks;
};

/// Takes the nearest model, then again and again the one that explains most of the rest. Returns
/// nothing if most_parts models do not cover every element.
Cover cover(const Identification& x) {
  const KernelRun& run = x.runs[0];
  // Edges end as the rest does.
  Candidate next = x.candidate(x.result.rejected[0]);
  std::vector<Candidate> usual;
  for (std::size_t i = 0; i < x.usual; ++i) {
    const Candidate& one = x.candidates[i];
    if (one.model.epilogue == next.model.epilogue) usual.push_back(one);
  }
  Cover out;
  Mask covered(run.size());
  while (out.masks.size() < most_parts) {
    const auto before = std::ranges::count(covered, true);
    out.candidates.push_back(next);
    out.masks.push_back(mask_of(x, out.candidates.back()));
    for (std::size_t at = 0; at < covered.size(); ++at) {
      covered[at] = covered[at] || out.masks.back()[at];
    }
    if (std::ranges::count(covered, false) == 0) return out;
    if (std::ranges::count(covered, true) == before) break;
    const std::vector<KernelRun> rest{rest_of(run, covered)};
    const SearchResult found = search(x.cores, usual, rest, {.nearest = 1});
    next = usual[(found.explaining.empty() ? found.rejected : found.explaining)[0].candidate];
  }
  return {};
}

bool gives_element(const GemmModel& g, const KernelRun& run, std::size_t at) {
  const std::uint64_t d = gemm_element(g, run.element(at));
  return is_same_result(d, run.d[at], g.epilogue.out, any_nan_fits(g));
}

/// Returns the models that differ from one in nothing but the part with which its sum begins.
std::vector<GemmModel> rotations_of(const GemmModel& g) {
  std::vector<GemmModel> out(static_cast<std::size_t>(g.sum.splits[0].parts), g);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].sum.splits[0].first = static_cast<int>(i);
  return out;
}

/// Returns whether the first elements of a row are right in one of the models.
bool has_row(const std::vector<GemmModel>& models, const KernelRun& run, std::size_t row) {
  return std::ranges::any_of(models, [&](const GemmModel& g) {
    for (std::size_t column = 0; column < std::min(run.n, most_of_row); ++column) {
      if (!gives_element(g, run, row * run.n + column)) return false;
    }
    return true;
  });
}

/// Returns whether each row is right in one of the models as a whole, where by chance none would
/// be.
bool has_whole_rows(const KernelRun& run, const std::vector<Mask>& masks) {
  double share = 0;
  for (const Mask& mask : masks) {
    share = std::max(share, static_cast<double>(std::ranges::count(mask, true)) /
                                static_cast<double>(mask.size()));
  }
  const double of_row =
      static_cast<double>(run.n) * -std::log(share) - std::log(static_cast<double>(masks.size()));
  if (of_row <= 0 || of_row * static_cast<double>(run.m) < least_uncovered) return false;
  for (std::size_t row = 0; row < run.m; ++row) {
    const bool whole = std::ranges::any_of(masks, [&](const Mask& mask) {
      const auto first = mask.begin() + static_cast<std::ptrdiff_t>(row * run.n);
      return std::all_of(first, first + static_cast<std::ptrdiff_t>(run.n), std::identity());
    });
    if (!whole) return false;
  }
  return true;
}

/// Returns the rotations of one model of the cores that are nearest, if each row is right in one of
/// them. Of a narrow D, some rows may be right in those of several.
Cover ring(const Identification& x) {
  const KernelRun& run = x.runs[0];
  if (run.n < least_of_row) return {};
  std::vector<std::size_t> cores;
  for (const Verdict& verdict : x.result.rejected) {
    const std::size_t core = x.candidate(verdict).core;
    if (cores.size() == most_cores) break;
    if (std::ranges::find(cores, core) == cores.end()) cores.push_back(core);
  }
  std::size_t tried = 0;
  for (std::size_t i = x.usual; i < x.candidates.size() && tried < most_rings; ++i) {
    const Candidate& candidate = x.candidates[i];
    // One candidate stands for its rotations.
    if (candidate.model.sum.splits[0].first != 1) continue;
    if (std::ranges::find(cores, candidate.core) == cores.end()) continue;
    const std::vector<GemmModel> models = rotations_of(candidate.model);
    const auto has = [&](std::size_t row) { return has_row(models, run, row); };
    if (!has(0) || !has(run.m / 2) || !has(run.m - 1)) continue;
    Cover out;
    for (const GemmModel& g : models) {
      out.candidates.push_back(candidate);
      out.candidates.back().model = g;
      out.masks.push_back(mask_of(x, out.candidates.back()));
    }
    if (!out.masks.empty() && has_whole_rows(run, out.masks)) return out;
    ++tried;
  }
  return {};
}

Cover nearest_alone(const Identification& x) {
  const Candidate& nearest = x.candidate(x.result.rejected[0]);
  return {{nearest}, {mask_of(x, nearest)}};
}

/// Returns the models of tiles whose K is cut elsewhere each.
Cover uneven_cover(const Identification& x) {
  Cover out;
  out.candidates = uneven_tiles(x).models;
  for (const Candidate& candidate : out.candidates) out.masks.push_back(mask_of(x, candidate));
  return out;
}

/// Returns how many elements models that are right as often as these would leave uncovered by
/// chance.
double uncovered_by_chance(const std::vector<Mask>& masks) {
  const auto n = static_cast<double>(masks[0].size());
  double out = n;
  for (const Mask& mask : masks) out *= static_cast<double>(std::ranges::count(mask, false)) / n;
  return out;
}

/// Returns how many elements a mask has in the lines that hold some
/// elements; 0 if it lacks one of them.
template <class Line>
std::size_t whole_around(const Mask& mask, const Mask& some, std::size_t lines, const Line& line) {
  std::vector<char> holds(lines), lacks(lines);
  for (std::size_t at = 0; at < mask.size(); ++at) {
    if (some[at]) holds[line(at)] = 1;
    if (!mask[at]) lacks[line(at)] = 1;
  }
  std::size_t held = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    if (holds[i] != 0 && lacks[i] != 0) return 0;
    held += holds[i] != 0 ? 1 : 0;
  }
  return held * (mask.size() / lines);
}

/// Returns how unlikely it is that the best of so many models explains by chance what the parts
/// before it leave, as -log of the probability, for each part but the first. An edge counts as a
/// whole: all elements of the lines that hold what was left.
std::vector<double> evidence_of(const Cover& cover, const KernelRun& run, std::size_t tried) {
  std::vector<double> out;
  Mask covered = cover.masks[0];
  for (std::size_t part = 1; part < cover.masks.size(); ++part) {
    const Mask& mask = cover.masks[part];
    Mask more(mask.size());
    for (std::size_t at = 0; at < mask.size(); ++at) {
      more[at] = mask[at] && !covered[at];
      covered[at] = covered[at] || mask[at];
    }
    const auto count = [](const Mask& x) {
      return static_cast<double>(std::ranges::count(x, true));
    };
    const auto in_rows =
        whole_around(mask, more, run.m, [&](std::size_t at) { return run.row(at); });
    const auto in_columns =
        whole_around(mask, more, run.n, [&](std::size_t at) { return run.column(at); });
    const double n = std::max(count(more), static_cast<double>(std::max(in_rows, in_columns)));
    const double share = count(mask) / static_cast<double>(mask.size());
    out.push_back(n * -std::log(share) - std::log(static_cast<double>(tried)));
  }
  return out;
}

/// Returns whether so many models explain by chance what these do.
bool is_chance(const Cover& cover, const KernelRun& run, std::size_t tried) {
  if (cover.masks.empty()) return true;
  if (uncovered_by_chance(cover.masks) >= least_uncovered) return false;
  return std::ranges::any_of(evidence_of(cover, run, tried),
                             [](double x) { return x < least_evidence; });
}

std::vector<std::size_t> uncovered_by(const std::vector<Mask>& masks, std::size_t size) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < size; ++at) {
    const auto has = [at](const Mask& mask) { return bool{mask[at]}; };
    if (std::ranges::none_of(masks, has)) out.push_back(at);
  }
  return out;
}

/// Takes away the last parts, but the first ones, as long as each explains elements by chance and
/// what is left then are few. Returns what is left.
std::vector<std::size_t> without_chance(Cover& cover, std::size_t first, const KernelRun& run,
                                        std::size_t tried) {
  const std::vector<double> evidence = evidence_of(cover, run, tried);
  std::vector<std::size_t> out;
  while (cover.masks.size() > first && evidence[cover.masks.size() - 2] < least_evidence) {
    const std::vector<Mask> before(cover.masks.begin(), cover.masks.end() - 1);
    std::vector<std::size_t> left = uncovered_by(before, run.size());
    if (left.size() * undecided_of > run.size()) break;
    out = std::move(left);
    cover.masks.pop_back();
    cover.candidates.pop_back();
  }
  return out;
}

/// Returns the lines of so many, `others` elements each, that a part explains as a whole and no
/// other part does. `place` is the element of a line at a place.
template <class Place>
std::vector<std::size_t> whole_lines(const Cover& cover, std::size_t mine, std::size_t lines,
                                     std::size_t others, const Place& place) {
  std::vector<std::size_t> out;
  for (std::size_t line = 0; line < lines; ++line) {
    const auto is_whole = [&](const Mask& mask) {
      for (std::size_t i = 0; i < others; ++i) {
        if (!mask[place(line, i)]) return false;
      }
      return true;
    };
    if (is_whole(cover.masks[mine]) && std::ranges::count_if(cover.masks, is_whole) == 1) {
      out.push_back(line);
    }
  }
  return out;
}

struct TileEdges {
  std::size_t rows = 0, columns = 0;
};

/// Returns the number of models that explain a tile as a whole, and the last one of them.
std::pair<std::size_t, std::size_t> owner_of(const Cover& cover, const KernelRun& run,
                                             const TileEdges& edges, std::size_t row,
                                             std::size_t column) {
  std::size_t count = 0, last = 0;
  for (std::size_t model = 0; model < cover.masks.size(); ++model) {
    const auto is_whole = [&] {
      for (std::size_t i = row; i < std::min(run.m, row + edges.rows); ++i) {
        for (std::size_t j = column; j < std::min(run.n, column + edges.columns); ++j) {
          if (!cover.masks[model][i * run.n + j]) return false;
        }
      }
      return true;
    };
    if (!is_whole()) continue;
    ++count;
    last = model;
  }
  return {count, last};
}

/// Calls visit(row, column) for the first elements of D's tiles until it returns false.
template <class Visit>
bool each_tile(const KernelRun& run, const TileEdges& edges, const Visit& visit) {
  for (std::size_t row = 0; row < run.m; row += edges.rows) {
    for (std::size_t column = 0; column < run.n; column += edges.columns) {
      if (!visit(row, column)) return false;
    }
  }
  return true;
}

/// Returns the largest tiles each of which some model explains as a whole.
TileEdges tiles_of(const Cover& cover, const KernelRun& run) {
  constexpr std::array<std::size_t, 6> edges{256, 128, 64, 32, 16, 8};
  TileEdges out;
  for (const std::size_t rows : edges) {
    for (const std::size_t columns : edges) {
      if (rows * columns <= out.rows * out.columns || rows > run.m || columns > run.n) continue;
      const TileEdges some{rows, columns};
      if (each_tile(run, some, [&](std::size_t row, std::size_t column) {
            return owner_of(cover, run, some, row, column).first > 0;
          })) {
        out = some;
      }
    }
  }
  return out;
}

/// Returns what a part explains, and what no other part explains.
TogetherPart measured(const KernelRun& run, const Cover& cover, std::size_t mine) {
  TogetherPart part{.candidate = cover.candidates[mine], .first_row = run.m, .first_column = run.n};
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (!cover.masks[mine][at]) continue;
    part.equal += 1;
    std::size_t explaining = 0;
    for (const Mask& mask : cover.masks) explaining += mask[at] ? 1 : 0;
    if (explaining > 1) continue;
    part.alone.push_back(at);
    part.first_row = std::min(part.first_row, run.row(at));
    part.last_row = std::max(part.last_row, run.row(at));
    part.first_column = std::min(part.first_column, run.column(at));
    part.last_column = std::max(part.last_column, run.column(at));
  }
  const std::size_t n = run.n;
  part.whole_rows =
      whole_lines(cover, mine, run.m, n, [n](std::size_t i, std::size_t j) { return i * n + j; });
  part.whole_columns =
      whole_lines(cover, mine, n, run.m, [n](std::size_t j, std::size_t i) { return i * n + j; });
  return part;
}

}  // namespace

Together together(const Identification& x) {
  const SearchResult& r = x.result;
  if (!x.in_time || !r.open.empty()) return {};
  if (x.runs.size() != 1 || x.runs[0].dots || !r.explaining.empty() || r.rejected.empty())
    return {};
  const KernelRun& run = x.runs[0];
  Together out;
  Cover found = ring(x);
  const bool is_ring = !found.masks.empty();
  if (!is_ring) {
    found = cover(x);
    const bool by_chance = is_chance(found, run, r.tried);
    Cover uneven = by_chance ? uneven_cover(x) : Cover{};
    if (!is_chance(uneven, run, r.tried)) {
      found = std::move(uneven);
    } else {
      if (found.masks.empty()) found = nearest_alone(x);
      out.undecided = without_chance(found, by_chance ? 1 : 2, run, r.tried);
      if (found.masks.size() == 1) out.undecided = uncovered_by(found.masks, run.size());
      // Of narrow numbers, one model explains most by chance.
      const bool is_wide = x.types.d.precision >= binary32.precision;
      const bool are_few = out.undecided.size() * undecided_of <= run.size();
      if (by_chance && (is_chance(found, run, r.tried) || !is_wide || !are_few)) return {};
    }
  }
  const TileEdges tiles = out.undecided.empty() ? tiles_of(found, run) : TileEdges{};
  out.tile_rows = tiles.rows;
  out.tile_columns = tiles.columns;
  for (std::size_t i = 0; i < found.masks.size(); ++i) {
    TogetherPart part = measured(run, found, i);
    if (tiles.rows != 0) {
      each_tile(run, tiles, [&](std::size_t row, std::size_t column) {
        const auto [owners, last] = owner_of(found, run, tiles, row, column);
        if (owners == 1 && last == i) part.whole_tiles.push_back(row * run.n + column);
        return true;
      });
    }
    if (!part.alone.empty()) out.parts.push_back(part);
  }
  if (is_ring) std::ranges::stable_sort(out.parts, {}, &TogetherPart::first_row);
  return out;
}

}  // namespace binade
