// SPDX-License-Identifier: Apache-2.0
//
// Writes tables of results as text: columns are as wide as their widest cell, and numbers are
// aligned to the right. In a table wider than a terminal, headings and words are broken over
// several lines, figures are not.
#include "lib/runs/experiment.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/text/paragraph.h"

namespace binade {
namespace {

constexpr std::size_t widest_line = 98;
/// A column with a longer cell that has a blank holds words, which may be broken over lines;
/// figures are shorter.
constexpr std::size_t longest_figure = 24;

using Lines = std::vector<std::string>;

/// Breaks a cell into lines of at most `width` columns. Longer words stay whole; "3.2 %" stays on
/// one line.
Lines broken(std::string text, std::size_t width) {
  constexpr char glue = '\1';
  for (std::size_t at = 0; (at = text.find(" %", at)) != std::string::npos;) text[at] = glue;
  text = wrapped(text, 0, width);
  std::ranges::replace(text, glue, ' ');
  Lines out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::size_t width_of(const Lines& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, columns_of(line));
  return width;
}

struct Column {
  std::size_t width = 0, least = 0;
  bool words = false;  ///< cells may be broken over lines, and are aligned to the left
};

Column column_of(const Table& table, std::size_t i) {
  Column out{columns_of(table.columns[i]), width_of(broken(table.columns[i], 1))};
  for (const auto& row : table.rows) {
    const std::size_t width = columns_of(row[i]);
    out.width = std::max(out.width, width);
    out.words = out.words || (width > longest_figure && row[i].find(' ') != std::string::npos);
  }
  for (const auto& row : table.rows) {
    out.least = std::max(out.least, out.words ? width_of(broken(row[i], 1)) : columns_of(row[i]));
  }
  return out;
}

std::size_t total_of(const std::vector<Column>& columns) {
  return std::accumulate(columns.begin(), columns.end(), std::size_t{0},
                         [](std::size_t sum, const Column& c) { return sum + 2 + c.width; });
}

/// Makes the widest column that can be narrower narrower, until the lines fit or no column can.
void narrow(std::vector<Column>& columns) {
  while (total_of(columns) > widest_line) {
    Column* widest = nullptr;
    for (Column& c : columns) {
      if (c.width > c.least && (widest == nullptr || c.width > widest->width)) widest = &c;
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

/// Writes one row on as many lines as its tallest cell needs; headings are aligned to the last of
/// them.
std::string text_of_row(const std::vector<Lines>& cells, const std::vector<Column>& columns,
                        bool head, bool narrowed) {
  std::size_t tall = 1;
  for (const Lines& cell : cells) tall = std::max(tall, cell.size());
  std::string text;
  for (std::size_t n = 0; n < tall; ++n) {
    std::string line = " ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t above = head ? tall - cells[i].size() : 0;
      const std::string part = n >= above && n - above < cells[i].size() ? cells[i][n - above] : "";
      const std::string gap(columns[i].width - columns_of(part), ' ');
      const bool left = i == 0 || (narrowed && columns[i].words);
      line += (i == 0 ? " " : "  ") + (left ? part + gap : gap + part);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string table_text(const Table& table) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) columns.push_back(column_of(table, i));
  const bool narrowed = total_of(columns) > widest_line;
  narrow(columns);
  const auto lines_of = [&](const std::vector<std::string>& row, bool head) {
    std::vector<Lines> out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool breaks = narrowed && (head || columns[i].words);
      out.push_back(breaks ? broken(row[i], columns[i].width) : Lines{row[i]});
    }
    return out;
  };
  const std::vector<Lines> head = lines_of(table.columns, true);
  std::vector<std::vector<Lines>> rows;
  for (const auto& row : table.rows) rows.push_back(lines_of(row, false));
  for (std::size_t i = 0; i < columns.size(); ++i) {  // broken lines may be shorter than allowed
    columns[i].width = width_of(head[i]);
    for (const auto& row : rows) columns[i].width = std::max(columns[i].width, width_of(row[i]));
  }
  std::string text = table.title.empty() ? "" : wrapped(table.title, 0);
  text += text_of_row(head, columns, true, narrowed);
  const bool apart =
      std::ranges::any_of(rows, [](const auto& row) { return !row.empty() && row[0].size() > 1; });
  for (const auto& row : rows) {
    if (apart) text += "\n";
    text += text_of_row(row, columns, false, narrowed);
  }
  return text + "\n";
}

}  // namespace binade
