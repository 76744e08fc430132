// SPDX-License-Identifier: Apache-2.0
//
// The first row that is not in its place tells where to begin; rows that are alike tell nothing.
#include "lib/scales/shifted_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace binade {
namespace {

/// How many rows must be alike that it is no chance, where so many pairs of any are.
std::size_t rows_that_say(std::size_t rows,
                          const std::function<bool(std::size_t, std::size_t)>& are_alike) {
  constexpr double never = 1e-6, least = 0.01;
  std::size_t of = 0, alike = 0;
  for (const std::size_t apart : {std::size_t{5}, std::size_t{7}}) {
    for (std::size_t at = apart; at < rows; ++at) {
      ++of;
      alike += are_alike(at, at - apart) ? 1 : 0;
    }
  }
  const double share =
      of == 0 ? 1 : std::max(least, static_cast<double>(alike) / static_cast<double>(of));
  return share == 1 ? rows + 1
                    : static_cast<std::size_t>(std::ceil(std::log(never) / std::log(share)));
}

}  // namespace

std::optional<ShiftedRows> shifted_rows(
    std::size_t rows, const std::function<bool(std::size_t, std::size_t)>& is_row,
    const std::function<bool(std::size_t, std::size_t)>& are_alike) {
  const std::size_t least = rows_that_say(rows, are_alike);
  std::size_t first = 0;
  while (first < rows && is_row(first, first)) ++first;
  if (first == 0 || first + least > rows) return std::nullopt;
  for (const std::int64_t by : {1, -1, 2, -2, 3, -3, 4, -4}) {
    const auto from_of = [&](std::size_t at) -> std::optional<std::size_t> {
      const std::int64_t from = static_cast<std::int64_t>(at) - by;
      if (from < 0 || from >= static_cast<std::int64_t>(rows)) return std::nullopt;
      return static_cast<std::size_t>(from);
    };
    std::size_t of = 0, equal = 0;
    for (std::size_t at = first; at < rows; ++at) {
      const auto from = from_of(at);
      if (!from || are_alike(at, *from)) continue;
      ++of;
      equal += is_row(at, *from) ? 1 : 0;
      // One row may have come from elsewhere, and those at the end, too.
      if (of > equal + static_cast<std::size_t>(std::abs(by)) + 1) break;
    }
    const std::size_t unequal = of - equal, ends = static_cast<std::size_t>(std::abs(by));
    if (equal < least || equal < 2 * unequal || unequal > ends + equal / 10) continue;
    ShiftedRows out{.first = first, .last = first, .by = by};
    while (out.first > 1) {
      const auto from = from_of(out.first - 1);
      if (!from || !is_row(out.first - 1, *from)) break;
      --out.first;
    }
    const auto n = static_cast<std::size_t>(std::abs(by));
    for (std::size_t at = 0; at < rows; ++at) {
      std::size_t from = at < first ? at : from_of(at).value_or(at);
      // What was pushed out at one end may stand at the other.
      const std::size_t other = by > 0 ? rows - n + (at - first) : first + (at + n - rows);
      const bool is_end = at >= first && (by > 0 ? at < first + n : at + n >= rows);
      if (is_end && !is_row(at, from) && is_row(at, other)) from = other;
      out.from.push_back(static_cast<std::uint32_t>(from));
    }
    return out;
  }
  return std::nullopt;
}

std::string distance_words(std::int64_t by) {
  const std::int64_t n = std::abs(by);
  return fmt::format("{} row{} {}", n, n == 1 ? "" : "s", by > 0 ? "before" : "behind");
}

std::string shifted_words(const ShiftedRows& rows) {
  return fmt::format("from row {} on{} each row is that of the numbers {}", rows.first,
                     rows.last == rows.first ? "" : fmt::format(", or any up to {},", rows.last),
                     distance_words(rows.by));
}

}  // namespace binade
