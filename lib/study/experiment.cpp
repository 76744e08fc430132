// SPDX-License-Identifier: Apache-2.0
//
// Tables of outcomes as text: columns as wide as their widest cell, numbers to the right.
#include "lib/study/experiment.h"

#include <fmt/format.h>

#include <algorithm>

namespace binade {
namespace {

/// Characters as a terminal counts them: UTF-8 continuation bytes take no room.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string gap(widths[i] - width_of(cells[i]), ' ');
    line += i == 0 ? " " + cells[i] + gap : "  " + gap + cells[i];
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string text_of(const Table& table) {
  std::vector<std::size_t> widths(table.columns.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = width_of(table.columns[i]);
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text = table.title.empty() ? "" : table.title + "\n";
  text += line_of(table.columns, widths);
  for (const auto& row : table.rows) text += line_of(row, widths);
  return text + "\n";
}

}  // namespace binade
