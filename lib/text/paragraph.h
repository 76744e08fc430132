// SPDX-License-Identifier: Apache-2.0
//
// Prose on a terminal: lengths in columns, lines broken between words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace binade {

/// Columns that a UTF-8 text takes on a terminal, one for each character.
std::size_t columns_of(std::string_view text);

/// The text with blanks behind it, or before it, up to `width` columns; a longer text as it is.
std::string left_aligned(std::string_view text, std::size_t width);
std::string right_aligned(std::string_view text, std::size_t width);

/// "11,950"
std::string grouped(std::uint64_t n);

/// The text in lines of at most `width` columns (longer words stay whole), all but the first line
/// indented; ends with a newline.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 98);

}  // namespace binade
