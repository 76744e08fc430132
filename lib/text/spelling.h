// SPDX-License-Identifier: Apache-2.0
//
// Names as people type them: comparison without case, lists of names, and the known name that is
// nearest to a mistyped one.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// Returns "; did you mean mxfp8_e4m3 or mxfp8_e5m2?" with the known names that are the word, or
/// the word and more from a "_" on, 5 at most; else "; did you mean ties_to_even?" with the first
/// of those that take the fewest edits of single characters. Case does not matter. Returns an empty
/// text if each takes more edits than half of the word's bytes (at least 1, at most 3), or if the
/// word is empty or longer than 64 bytes.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// Returns the member `name` of each row of a table, in order.
template <typename Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

/// Returns the same names as texts of their own.
template <typename Table>
std::vector<std::string> words_of_table(const Table& table) {
  const std::vector<std::string_view> names = names_of(table);
  return {names.begin(), names.end()};
}

/// Returns the pieces between the occurrences of `between`, empty ones included: one piece more
/// than there are occurrences.
std::vector<std::string_view> split(std::string_view text, char between);

/// Returns the text with the letters A to Z in lower case; other bytes stay.
std::string lower_case(std::string_view text);

/// Returns the names as "a, b, c".
std::string listed(std::span<const std::string_view> names);

/// Returns the names as "a, b or c".
std::string alternatives(std::span<const std::string_view> names);

/// Returns the words as one line for a shell. A word that is empty or has other characters than
/// ASCII letters, digits and _./:=,+-@% is put in single quotes, in the form that printable() gives
/// it: characters that must not be printed become \xNN.
std::string command_line(const std::vector<std::string>& words);

}  // namespace binade
