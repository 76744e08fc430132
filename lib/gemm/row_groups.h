// SPDX-License-Identifier: Apache-2.0
//
// Rows of A in groups, each of which is multiplied by a B of its own, as the tokens of a mixture's
// experts: which rows are in which group, and how files say so.
//
//     ends     G numbers: the row behind each group's last, as torch._grouped_mm's offs
//     sizes    G numbers: how many rows each group has, as TransformerEngine's m_splits
//     rows     M numbers: the group of each row, -1: in none, as DeepGEMM's m_indices
//     masked   G numbers; A is (G, rows, K), and the first so many rows of each are multiplied, as
//              DeepGEMM's masked_m
//     psum     as ends, but each group begins at the next multiple of 128 rows, as in DeepGEMM's
//              layout of prefix sums (MGroupedContiguousWithPsumLayout)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// In which group each row is. Empty: there is one B, of all rows.
struct RowGroups {
  std::size_t count = 1;                  ///< how many B there are
  std::vector<std::int32_t> of_row = {};  ///< from 0 on, or -1: the row is in none
  std::size_t stack = 0;  ///< rows of each of `count` matrices that A and D are stacks of; 0: none

  bool any() const { return !of_row.empty(); }
  bool has(std::size_t row) const { return of_row.empty() || of_row[row] >= 0; }
  /// Returns which of all columns of all B is column j of a row, which is in a group.
  std::size_t column(std::size_t row, std::size_t j, std::size_t n) const {
    return of_row.empty() ? j : static_cast<std::size_t>(of_row[row]) * n + j;
  }
};

/// Neighbouring rows of one group.
struct GroupedRows {
  std::size_t first = 0, count = 0, group = 0;
};
/// Returns all rows that are in groups: neighbours of one group together, in their order.
std::vector<GroupedRows> grouped_rows(const RowGroups& groups, std::size_t rows);
/// Returns how many rows are in groups.
std::size_t rows_in_groups(const RowGroups& groups, std::size_t rows);

/// How a file says which rows are in which group: what its numbers are, and whether A is a stack of
/// matrices, one for each group.
enum class GroupNumbers : std::uint8_t { ends, sizes, groups };
struct GroupLayout {
  std::string_view name;
  GroupNumbers numbers{};
  bool is_stack = false;
  std::size_t step = 1;  ///< a group begins at the next multiple of so many rows
};
inline constexpr std::array<GroupLayout, 5> group_layouts{{
    {"ends", GroupNumbers::ends},
    {"sizes", GroupNumbers::sizes},
    {"rows", GroupNumbers::groups},
    {"masked", GroupNumbers::sizes, true},
    {"psum", GroupNumbers::ends, false, 128},
}};
/// Returns the row of this name. Throws Error if there is none.
const GroupLayout& find_group_layout(const std::string& name);

/// Reads the groups of so many rows from a tensor of integers, where there are `count` of B and,
/// of a stack, `stack` rows in each matrix. Throws Error, which names the file, if a number is
/// impossible.
RowGroups read_row_groups(const std::string& where, const GroupLayout& layout, std::size_t count,
                          std::size_t rows, std::size_t stack);

}  // namespace binade
