// SPDX-License-Identifier: Apache-2.0
//
// From which line, a row or a column, each has what it has, where that is known of most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace binade {

/// A line of which it is not known.
inline constexpr std::uint32_t unknown_line = 0xFFFFFFFF;

/// Returns the order with the lines that are left in the place of unknown ones; nothing where three
/// quarters are not known, or less than a quarter of all are elsewhere. No line is there twice.
inline std::optional<std::vector<std::uint32_t>> whole_order(std::vector<std::uint32_t> from) {
  std::vector<bool> taken(from.size());
  std::size_t known = 0, away = 0;
  for (std::size_t line = 0; line < from.size(); ++line) {
    if (from[line] == unknown_line) continue;
    taken[from[line]] = true;
    ++known;
    away += from[line] != line ? 1 : 0;
  }
  if (4 * known < 3 * from.size() || 4 * away < from.size()) return std::nullopt;
  std::uint32_t next = 0;
  for (std::uint32_t& line : from) {
    if (line != unknown_line) continue;
    while (taken[next]) ++next;
    line = next++;
  }
  return from;
}

}  // namespace binade
