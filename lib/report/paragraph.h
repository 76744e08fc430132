// SPDX-License-Identifier: Apache-2.0
//
// Prose on a terminal: lengths in columns, lines broken between words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace binade {

/// Columns a UTF-8 text of single-width characters takes.
std::size_t columns_of(const std::string& text);

/// The text filled up with blanks to `width` columns.
std::string padded(const std::string& text, std::size_t width);

/// "11,950"
std::string grouped(std::uint64_t n);

/// The text in lines of at most `width` columns (longer words stay whole), all but the first line
/// indented; ends with a newline.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 98);

}  // namespace binade
