// SPDX-License-Identifier: Apache-2.0
//
// Column arithmetic for text on a terminal; breaks lines greedily between words.
#include "lib/text/paragraph.h"

#include <algorithm>

namespace binade {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string left_aligned(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::string side_by_side(const std::vector<std::vector<std::string>>& columns) {
  std::vector<std::string> lines(columns.empty() ? 0 : columns[0].size());
  for (const std::vector<std::string>& column : columns) {
    std::size_t width = 0;
    for (const std::string& cell : column) width = std::max(width, columns_of(cell));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += (lines[i].empty() ? "" : "  ") + left_aligned(column[i], width);
    }
  }
  std::string out;
  for (const std::string& line : lines) {
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  std::string out;
  std::string line = text.substr(0, start);
  bool empty = true;
  for (std::size_t at = start; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (!empty && columns_of(line) + 1 + columns_of(word) > width) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (empty ? "" : " ") + word;
    }
    empty = false;
  }
  return out + line + "\n";
}

std::string wrapped_names(std::span<const std::string_view> names, std::size_t indent) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view comma = i + 1 < names.size() ? "," : "";
    if (column + names[i].size() + 2 > 100) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      text += " ";
    }
    text += std::string(names[i]) + std::string(comma);
    column += names[i].size() + 2;
  }
  return text;
}

}  // namespace binade
