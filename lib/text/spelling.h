// SPDX-License-Identifier: Apache-2.0
//
// Names as people type them: in any case, listed, mistyped (the known name that is nearest).
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// "; did you mean ties_to_even?", or nothing where no name is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// The names of the rows of a table, in order.
template <typename Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

/// The pieces of a text between a character; one more than there are of it.
std::vector<std::string_view> split(std::string_view text, char between);

/// A to Z made a to z; other bytes stay.
std::string lower_case(std::string_view text);

/// "a, b, c"
std::string listed(std::span<const std::string_view> names);

/// "a, b or c"
std::string alternatives(std::span<const std::string_view> names);

/// The words as one line for a shell; a word that a shell would split or expand stands in quotes.
std::string command_line(const std::vector<std::string>& words);

}  // namespace binade
