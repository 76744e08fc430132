// SPDX-License-Identifier: Apache-2.0
//
// Rows that stand in their places up to one, and from it on so many before or behind, as where a
// row was lost, or written twice:
//
//     rows of the numbers    0 1 2 3 4 5 6
//     rows as stored         0 1 2 2 3 4 5        from row 3 on each is the one before
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace binade {

struct ShiftedRows {
  std::size_t first = 0;  ///< from this row on,
  std::size_t last = 0;   ///< or from any up to this one, since those between are alike
  std::int64_t by = 0;    ///< each row is the one so many before it
  std::vector<std::uint32_t> from = {};  ///< which row each is
};

/// Returns how rows are shifted, if they are; is_row(at, from) says whether what is stored in a row
/// is of a row of the numbers, and are_alike(one, other) whether two rows would be stored alike.
std::optional<ShiftedRows> shifted_rows(
    std::size_t rows, const std::function<bool(std::size_t, std::size_t)>& is_row,
    const std::function<bool(std::size_t, std::size_t)>& are_alike);

/// Returns "from row 3 on each row is that of the numbers 1 row before".
std::string shifted_words(const ShiftedRows& rows);

/// Returns "1 row before", "3 rows behind".
std::string distance_words(std::int64_t by);

}  // namespace binade
