// SPDX-License-Identifier: Apache-2.0
//
// Codes of which some stand in the other half of their bytes: in some rows, in some columns.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/scales/suspected_codes.h"

namespace binade {

std::optional<SuspectedCodes> CodeSuspicions::partly_exchanged(const SuspectedCodes& x) const {
  const std::uint64_t left = x.elements.of - x.elements.equal;
  if (left == 0 || 4 * x.elements.equal < x.elements.of || x.between ||
      !codes_are_packed(work_->given(), work_->reading()) ||
      (x.how != &code_readings[0] && x.how != &code_readings[1])) {
    return std::nullopt;
  }
  // On a sample first, which the other order explains, too, or says nothing.
  const CodeReading& other = x.how == &code_readings[0] ? code_readings[1] : code_readings[0];
  std::vector<std::uint8_t> some(work_->x().size());
  std::uint64_t sampled = 0;
  for (const std::uint8_t bit : {std::uint8_t{1}, std::uint8_t{2}}) {
    const CodeReading& how = bit == 1 ? *x.how : other;
    sampled = codes_agree(*work_, x.to, x.factors, stored_.at(how.order), how,
                          {.pieces = pieces_, .elements = &some, .bit = bit, .away = x.away})
                  .of;
  }
  if (10 * static_cast<std::uint64_t>(std::ranges::count(some, std::uint8_t{3})) > sampled) {
    return std::nullopt;
  }
  SuspectedCodes out = x;
  out.how_of_some = &other;
  ++*tried_;
  count_all(out);
  if (4 * (out.elements.of - out.elements.equal) > left) return std::nullopt;
  // Which rows and columns have elements that the other order alone explains.
  SuspectedCodes plain = x;
  std::vector<std::uint8_t> marks(work_->x().size());
  count_all(plain, &marks);
  const std::size_t length = work_->reading().view.length, rows = marks.size() / length;
  struct Extents {
    std::size_t first, last, found;
  };
  const auto extent = [&](std::size_t n, const auto& has) {
    Extents its{n, 0, 0};
    for (std::size_t i = 0; i < n; ++i) {
      if (!has(i)) continue;
      its = {std::min(its.first, i), i, its.found + 1};
    }
    return its;
  };
  const auto words = [](std::string_view what, const Extents& its, std::size_t of) {
    const bool are_neighbours = 10 * its.found >= 9 * (its.last + 1 - its.first);
    if (its.found == of || (are_neighbours && its.first == 0 && its.last + 1 == of)) {
      return std::string();
    }
    return are_neighbours
               ? fmt::format("{} {} to {}", what, its.first, its.last)
               : fmt::format("{} of {} {}, the first {}", its.found, of, what, its.first);
  };
  const Extents of_rows = extent(rows, [&](std::size_t r) {
    const auto row = std::span(marks).subspan(r * length, length);
    return std::ranges::find(row, 1) != row.end();
  });
  const Extents of_columns = extent(length, [&](std::size_t c) {
    for (std::size_t r = 0; r < rows; ++r) {
      if (marks[r * length + c] != 0) return true;
    }
    return false;
  });
  const std::string where =
      joined_words({words("rows", of_rows, rows), words("columns", of_columns, length)});
  out.words = joined_words(
      {x.words, fmt::format("{} {}",
                            x.how == &code_readings[0]
                                ? "the first of two codes in the high half of its byte in"
                                : "but in the low half, not the high one, in",
                            where.empty() ? "some bytes" : where)});
  ++out.changes;
  out.of.kind = "codes_exchanged";
  return out;
}

}  // namespace binade
