// SPDX-License-Identifier: Apache-2.0
//
// Of each element, the sums of all pairs of a run i for some parts and a run j for the others:
// where D is right, those of i = j have the weight 1, and all others 0.
#include "lib/identify/met_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "lib/identify/change_fit.h"
#include "lib/identify/part_weights.h"
#include "lib/identify/run_parts.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_tiles = 16, shortest_tile = 16, longest_tile = 256;

/// The products of an element's tiles of so many runs each: A's tile i by B's tile j, run by run
/// and without scales.
class TileProducts {
 public:
  TileProducts(const KernelCase& part, std::size_t length, std::size_t runs_of_tile)
      : run_(part.run),
        length_(length),
        runs_of_tile_(runs_of_tile),
        tiles_(run_.k / (length * runs_of_tile)),
        of_(run_.size() * tiles_ * tiles_ * runs_of_tile) {
    const std::vector<double> a = numbers_of(run_.a, part.types.a);
    const std::vector<double> b = numbers_of(run_.b, part.types.b);
    parallel_for(run_.size(), 8, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t at = begin; at < end; ++at) {
        const double* const row = a.data() + run_.row(at) * run_.k;
        const double* const column = b.data() + run_.column(at) * run_.k;
        for (std::size_t i = 0; i < tiles_; ++i) {
          for (std::size_t j = 0; j < tiles_; ++j) add(at, i, j, row, column);
        }
      }
    });
  }

  std::size_t tiles() const { return tiles_; }

  /// An element's sum where the moved parts are those of tile i, and all others of tile j.
  double operator()(std::size_t at, const MovedParts& moved, std::size_t i, std::size_t j) const {
    const auto of = [&](bool is_moved) { return is_moved ? i : j; };
    const double* const products = of_.data() + first(at, of(moved.a.data), of(moved.b.data));
    const auto scale = [&](const std::vector<std::uint32_t>& all, std::size_t line,
                           std::size_t run) {
      return all.empty() ? 1.0F : std::bit_cast<float>(all[line * tiles_ * runs_of_tile_ + run]);
    };
    double out = 0;
    for (std::size_t r = 0; r < runs_of_tile_; ++r) {
      const auto run_in = [&](bool is_moved) { return of(is_moved) * runs_of_tile_ + r; };
      out += products[r] * scale(run_.runs.a, run_.row(at), run_in(moved.a.scales)) *
             scale(run_.runs.b, run_.column(at), run_in(moved.b.scales));
    }
    return out;
  }

 private:
  std::size_t first(std::size_t at, std::size_t i, std::size_t j) const {
    return ((at * tiles_ + i) * tiles_ + j) * runs_of_tile_;
  }
  void add(std::size_t at, std::size_t i, std::size_t j, const double* row, const double* column) {
    const std::size_t tile = length_ * runs_of_tile_;
    for (std::size_t k = 0; k < tile; ++k) {
      of_[first(at, i, j) + k / length_] += row[i * tile + k] * column[j * tile + k];
    }
  }

  const KernelRun& run_;
  std::size_t length_, runs_of_tile_, tiles_;
  std::vector<double> of_;
};

/// A factor of every sum of an element: the scales of tensors, and alpha.
double factor_of(const KernelCase& part, std::size_t at) {
  const KernelRun& run = part.run;
  double out = part.epilogue.alpha;
  if (!run.a_scale.empty()) out *= number_in(run.a_scale[run.row(at)], binary32);
  if (!run.b_scale.empty()) out *= number_in(run.b_scale[run.column(at)], binary32);
  return out;
}

/// Returns the weights, 0 or 1, of the pairs i · runs + j; nothing if D is no such sum.
std::optional<std::vector<bool>> met_pairs(const KernelCase& part, const TileProducts& products,
                                           const MovedParts& moved) {
  const KernelRun& run = part.run;
  const std::size_t runs = products.tiles(), n = runs * runs;
  const NearSums sums = near_sums(part);
  std::vector<double> matrix(n * n), right(n), pairs(n);
  std::vector<std::vector<double>> all;
  std::vector<double> wanted;
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (!std::isfinite(sums.found[at]) || !std::isfinite(sums.size[at])) continue;
    double size = 0;  // errors grow with it
    double own = 0;
    const double factor = factor_of(part, at);
    for (std::size_t i = 0; i < runs; ++i) {
      for (std::size_t j = 0; j < runs; ++j) {
        pairs[i * runs + j] = factor * products(at, moved, i, j);
        size = std::max(size, std::abs(pairs[i * runs + j]));
      }
      own += pairs[i * runs + i];
    }
    if (!(size > 0) || !std::isfinite(size)) continue;
    for (double& x : pairs) x /= size;
    all.push_back(pairs);
    wanted.push_back((sums.found[at] - sums.exact[at] + own) / size);  // without C and the bias
    for (std::size_t i = 0; i < n; ++i) {
      right[i] += pairs[i] * wanted.back();
      for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += pairs[i] * pairs[j];
    }
  }
  if (all.size() < 3 * n) return std::nullopt;
  const std::vector<double> weights = least_squares(std::move(matrix), std::move(right));
  if (weights.empty()) return std::nullopt;
  std::vector<bool> out;
  for (const double weight : weights) {
    const bool is_met = std::abs(weight - 1) < 0.1;
    if (!is_met && std::abs(weight) > 0.1) return std::nullopt;
    out.push_back(is_met);
  }
  double left = 0, size = 0;
  for (std::size_t row = 0; row < all.size(); ++row) {
    double x = wanted[row];
    for (std::size_t i = 0; i < n; ++i) x -= out[i] ? all[row][i] : 0;
    left += x * x;
    size += wanted[row] * wanted[row];
  }
  if (left > size / 1024) return std::nullopt;
  return out;
}

/// Returns the tile that meets each one, if each meets just one and not all their own.
std::vector<std::size_t> met_by(const std::vector<bool>& pairs, std::size_t runs, bool of_columns) {
  std::vector<std::size_t> out;
  bool is_own = true;
  for (std::size_t j = 0; j < runs; ++j) {
    for (std::size_t i = 0; i < runs; ++i) {
      if (!pairs[of_columns ? i * runs + j : j * runs + i]) continue;
      if (out.size() > j) return {};
      out.push_back(i);
      is_own = is_own && i == j;
    }
    if (out.size() != j + 1) return {};
  }
  return is_own ? std::vector<std::size_t>{} : out;
}

/// The same of runs: those of a tile move with it.
std::vector<std::size_t> runs_of(const std::vector<std::size_t>& from, std::size_t runs_of_tile) {
  std::vector<std::size_t> out;
  for (const std::size_t tile : from) {
    for (std::size_t r = 0; r < runs_of_tile; ++r) out.push_back(tile * runs_of_tile + r);
  }
  return out;
}

/// The parts that are not moved, as moved ones, if they have words.
const MovedParts* others_of(const MovedParts& moved) {
  const auto found = std::ranges::find_if(moved_parts, [&](const MovedParts& x) {
    return x.a.data != moved.a.data && x.b.data != moved.b.data && x.a.scales != moved.a.scales &&
           x.b.scales != moved.b.scales;
  });
  return found == moved_parts.end() ? nullptr : &*found;
}

/// Appends the changes that move tiles of so many runs.
void add_met(std::vector<Change>& out, const KernelCase& given, const KernelCase& part,
             std::size_t length, std::size_t runs_of_tile) {
  const KernelRun& run = given.run;
  const TileProducts products(part, length, runs_of_tile);
  const auto add = [&](const MovedParts& moved, const std::vector<bool>& pairs, bool of_columns) {
    const std::vector<std::size_t> from = met_by(pairs, products.tiles(), of_columns);
    if (!from.empty()) out.push_back(moved_runs(run, moved, runs_of(from, runs_of_tile)));
  };
  for (const MovedParts& moved : moved_parts) {
    if (!has_parts(run, moved)) continue;
    const std::optional<std::vector<bool>> pairs = met_pairs(part, products, moved);
    if (!pairs) continue;
    add(moved, *pairs, true);
    const MovedParts* const others = others_of(moved);
    if (others != nullptr && has_parts(run, *others)) add(*others, *pairs, false);
  }
}

}  // namespace

std::vector<Change> met_runs(const KernelCase& given) {
  const KernelRun& run = given.run;
  std::vector<Change> out;
  const KernelCase part = sample_of(given, {});
  const std::size_t shortest = run.runs.any() ? run.runs.length : shortest_tile;
  for (std::size_t tile = shortest; out.empty() && 2 * tile <= run.k; tile *= 2) {
    if (tile > shortest && tile > longest_tile) break;
    if (run.k % tile != 0 || run.k / tile > most_tiles) continue;
    const std::size_t length = run.runs.any() ? run.runs.length : tile;
    add_met(out, given, part, length, tile / length);
  }
  return out;
}

std::string uncleared_promotion(const KernelCase& given) {
  constexpr MovedParts data{"", {true, false}, {true, false}};
  const KernelRun& run = given.run;
  const bool has_whole_runs = run.runs.any() && run.k % run.runs.length == 0;
  if (!has_whole_runs || run.runs.count(run.k) < 2 || run.runs.count(run.k) > most_tiles) return "";
  const KernelCase part = sample_of(given, {});
  const TileProducts products(part, run.runs.length, 1);
  const std::optional<std::vector<bool>> pairs = met_pairs(part, products, data);
  const std::size_t runs = products.tiles();
  for (std::size_t i = 0; i < runs; ++i) {
    for (std::size_t j = 0; j < runs; ++j) {
      if (!pairs || (*pairs)[i * runs + j] != (i <= j)) return "";
    }
  }
  return fmt::format(
      "the accumulator is not cleared between promotions: the scales of each {} of K multiply the "
      "sum of all k so far ({} elements that were tried lie near that)",
      run.runs.length, part.run.size());
}

}  // namespace binade
