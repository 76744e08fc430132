// SPDX-License-Identifier: Apache-2.0
//
// Signs are those of the numbers under any scale, so that they are known before the scales are.
#include "lib/scales/moved_columns.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/number/spread_places.h"
#include "lib/scales/line_order.h"

namespace binade {
namespace {

using Columns = std::vector<std::uint32_t>;

/// "each column is that of the numbers 1 column before", "columns in another order: column 0 is
/// that of the numbers' column 7, …".
std::string words_of_columns(const Columns& from) {
  std::unordered_map<std::int64_t, std::size_t> distances;
  for (std::size_t c = 0; c < from.size(); ++c) {
    ++distances[static_cast<std::int64_t>(c) - static_cast<std::int64_t>(from[c])];
  }
  for (const auto& [by, n] : distances) {
    if (4 * n < 3 * from.size() || by == 0) continue;
    const std::int64_t size = std::abs(by);
    return fmt::format("each column is that of the numbers {} column{} {}", size,
                       size == 1 ? "" : "s", by > 0 ? "before" : "behind");
  }
  std::string some;
  for (std::size_t c = 0, told = 0; c < from.size() && told < 3; ++c) {
    if (from[c] == c) continue;
    some += fmt::format("{}column {} is that of the numbers' column {}", told == 0 ? "" : ", ", c,
                        from[c]);
    ++told;
  }
  return "columns in another order: " + some + " …";
}

/// Which column of the numbers each is whose codes have these signs.
std::optional<Columns> columns_by_signs(const ReadingWork& work,
                                        const std::vector<std::byte>& codes) {
  const std::size_t columns = work.reading().view.length, rows = work.x().size() / columns;
  const int bits = work.format().element.bits();
  const std::vector<std::size_t> sample = spread_places(rows, 256);
  std::unordered_map<std::string, Columns> by_numbers;
  std::string key(sample.size(), '+');
  const auto key_of = [&](std::size_t c, const auto& is_negative) -> const std::string& {
    for (std::size_t i = 0; i < sample.size(); ++i) {
      key[i] = is_negative(sample[i] * columns + c) ? '-' : '+';
    }
    return key;
  };
  for (std::size_t c = 0; c < columns; ++c) {
    by_numbers[key_of(c, [&](std::size_t i) { return std::signbit(work.x()[i]); })].push_back(
        static_cast<std::uint32_t>(c));
  }
  Columns out(columns, unknown_line);
  std::vector<bool> taken(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const auto found = by_numbers.find(key_of(c, [&](std::size_t i) {
      return (std::to_integer<unsigned>(codes[i]) >> (bits - 1) & 1U) != 0;
    }));
    if (found == by_numbers.end() || found->second.size() > 1 || taken[found->second[0]]) continue;
    out[c] = found->second[0];
    taken[out[c]] = true;
  }
  return whole_order(std::move(out));
}

}  // namespace

std::optional<RowsMoved> moved_columns(const ReadingWork& work) {
  if (code_bytes(work.format().element) != 1 || work.reading().view.length < 8) {
    return std::nullopt;
  }
  for (const CodeReading& how :
       code_readings.first(codes_are_packed(work.given(), work.reading()) ? 2 : 1)) {
    auto columns = columns_by_signs(work, stored_codes(work.given(), work.reading(), how.order));
    if (!columns) continue;
    const std::string words = words_of_columns(*columns);
    return RowsMoved{.columns = std::make_shared<const Columns>(std::move(*columns)),
                     .words = words};
  }
  return std::nullopt;
}

}  // namespace binade
