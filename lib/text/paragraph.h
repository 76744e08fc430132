// SPDX-License-Identifier: Apache-2.0
//
// Text on a terminal: its width in columns, padding, grouped digits, and lines broken between
// words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// Returns the number of columns that a UTF-8 text takes on a terminal: one per code point.
std::size_t columns_of(std::string_view text);

/// Return the text padded with blanks to `width` columns; a longer text is returned unchanged.
std::string left_aligned(std::string_view text, std::size_t width);
std::string right_aligned(std::string_view text, std::size_t width);

/// Returns lines of cells, a column each, padded on the right and two blanks apart; lines end with
/// a newline, and with no blanks. All columns have the same number of cells.
std::string side_by_side(const std::vector<std::vector<std::string>>& columns);

/// Returns n with commas between groups of three digits, counted from the right: "11,950", "950".
std::string grouped(std::uint64_t n);

/// Returns the text broken at blanks into lines of at most `width` columns; a word too long for
/// that stays whole, on a line of its own. Every line but the first, which keeps the blanks that
/// the text begins with, is indented by `indent` blanks; every line ends with a newline.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 98);

/// The names, separated by commas, in lines of at most 100 columns (unless a name is longer); every
/// line but the first, which is taken to begin in column `indent`, is indented by `indent` blanks.
std::string wrapped_names(std::span<const std::string_view> names, std::size_t indent);

}  // namespace binade
