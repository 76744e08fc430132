// SPDX-License-Identifier: Apache-2.0
//
// The error of an element is compared with the element at the same place of earlier tiles.
#include "lib/identify/uncleared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/identify/change_fit.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

/// Tiles of D in the order in which a kernel computes them.
struct TileOrder {
  std::size_t m, n, height, width;
  bool by_rows;  ///< the next tile is the one to the right, else the one below

  std::size_t down() const { return (m + height - 1) / height; }
  std::size_t across() const { return (n + width - 1) / width; }
  std::size_t tiles() const { return down() * across(); }
  std::size_t tile_of(std::size_t i, std::size_t j) const {
    const std::size_t row = i / height, column = j / width;
    return by_rows ? row * across() + column : column * down() + row;
  }
  /// The element at the place of (i, j) in another tile; nothing beyond the edges of D.
  std::optional<std::size_t> in_tile(std::size_t tile, std::size_t i, std::size_t j) const {
    const std::size_t row = by_rows ? tile / across() : tile % down();
    const std::size_t column = by_rows ? tile % across() : tile / down();
    const std::size_t there_i = row * height + i % height, there_j = column * width + j % width;
    if (there_i >= m || there_j >= n) return std::nullopt;
    return there_i * n + there_j;
  }
  std::optional<std::size_t> before(std::size_t by, std::size_t i, std::size_t j) const {
    const std::size_t tile = tile_of(i, j);
    if (tile < by) return std::nullopt;
    return in_tile(tile - by, i, j);
  }
};

/// An element that is far from its sum, in numbers.
struct FarElement {
  std::size_t i, j;
  double error, within;  ///< of D beside the sum, and how much of it rounding may have made
};

std::vector<FarElement> some_far(const KernelCase& given, std::span<const std::size_t> elements) {
  constexpr std::size_t sampled = 512, kept = 24;
  std::vector<std::size_t> rows, columns;
  for (const std::size_t at : some_elements(given.run, elements, sampled)) {
    rows.push_back(given.run.row(at));
    columns.push_back(given.run.column(at));
  }
  const NearSums sums = near_sums(part_of(given, {}, rows, columns, true));
  std::vector<FarElement> all;
  for (std::size_t at = 0; at < sums.exact.size(); ++at) {
    const double error = sums.found[at] - sums.exact[at];
    const double within =
        2.02 * ulp_at(std::max(std::abs(sums.found[at]), std::abs(sums.exact[at])), given.types.d) +
        0x1p-12 * sums.size[at];
    if (std::abs(error) > within) all.push_back({rows[at], columns[at], error, within});
  }
  std::vector<FarElement> out;
  for (const std::size_t i : spread_places(all.size(), kept)) out.push_back(all[i]);
  return out;
}

/// Tiles of several sizes come to the same where each element begins with one of its own column or
/// row.
std::string uncleared_words(const TileOrder& x, std::size_t back) {
  const std::size_t turn = x.by_rows ? x.across() : x.down();
  const std::size_t along = x.by_rows ? x.width : x.height, other = x.by_rows ? x.height : x.width;
  const bool is_one_turn = x.tiles() == turn;
  const auto words = [](std::size_t lines, bool rows) {
    return fmt::format("each element begins with what D holds {} {}", lines,
                       rows ? "rows above it" : "columns to its left");
  };
  if (is_one_turn) return words(back * along, !x.by_rows);
  if (back % turn == 0) return words(back / turn * other, x.by_rows);
  return fmt::format("each tile of {} × {} begins with what the tile {} before it holds, along {}",
                     std::min(x.height, x.m), std::min(x.width, x.n), back,
                     x.by_rows ? "rows" : "columns");
}

}  // namespace

std::vector<Change> uncleared(const KernelCase& given, std::span<const std::size_t> elements) {
  constexpr std::size_t most_back = 1024;
  constexpr std::size_t sides[]{256, 192, 128, 64, 32, 16, 8};
  const KernelRun& run = given.run;
  if (run.dots || !run.c.empty() || run.size() == 0) return {};
  const std::vector<FarElement> far = some_far(given, elements);
  if (far.size() < 8) return {};
  const auto is_that = [&](const FarElement& x, const TileOrder& order, std::size_t back) {
    const auto at = order.before(back, x.i, x.j);
    return at && std::abs(number_in(run.d[*at], given.types.d) - x.error) <= x.within;
  };
  struct Found {
    TileOrder order;
    std::size_t back, elements;
  };
  std::optional<Found> best;
  for (const std::size_t height : sides) {
    for (const std::size_t width : sides) {
      for (const bool by_rows : {true, false}) {
        const TileOrder order{run.m, run.n, height, width, by_rows};
        // With one tile in a row or a column, both orders are one.
        if (!by_rows && (order.down() == 1 || order.across() == 1)) continue;
        for (std::size_t back = 1; back < std::min(order.tiles(), most_back); ++back) {
          if (!is_that(far[0], order, back) && !is_that(far[far.size() / 2], order, back)) continue;
          const auto count = static_cast<std::size_t>(
              std::ranges::count_if(far, [&](const auto& x) { return is_that(x, order, back); }));
          if (10 * count < 9 * far.size()) continue;
          const bool is_better =
              !best || count > best->elements || (count == best->elements && back < best->back);
          if (is_better) best = {order, back, count};
        }
      }
    }
  }
  if (!best) return {};
  const auto [order, back, count] = *best;
  Change out{.words = "accumulators not cleared: " + uncleared_words(order, back)};
  out.c = [&run, order, back](std::size_t at) {
    const auto before = order.before(back, at / run.n, at % run.n);
    return before ? run.d[*before] : 0;
  };
  out.as_c = given.types.d;
  return {out};
}

}  // namespace binade
