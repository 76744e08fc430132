// SPDX-License-Identifier: Apache-2.0
//
// Text as roff: names of characters, lines, and the paragraphs, lists and examples of a help's end.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "lib/cli/man_page.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

std::size_t utf8_length(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

std::string roff_character(std::string_view c) {
  if (c.size() == 1) {
    switch (c[0]) {
      case '\\': return "\\(rs";
      case '-': return "\\-";
      case '\'': return "\\(aq";
      case '`': return "\\(ga";
      case '^': return "\\(ha";
      case '~': return "\\(ti";
      case '"': return "\\(dq";
      default: return std::string(c);
    }
  }
  unsigned code = static_cast<unsigned char>(c[0]) & (0xFFU >> (c.size() + 1));
  for (std::size_t i = 1; i < c.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(c[i]) & 0x3FU);
  }
  constexpr const char* digits = "0123456789ABCDEF";
  std::string name;
  for (int shift = code > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) {
    name += digits[code >> shift & 15];
  }
  return "\\[u" + name + "]";
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The byte at which the column of a line begins, if the line has a word there with two spaces or
/// more before it.
std::optional<std::size_t> word_at_column(std::string_view line, std::size_t column) {
  for (std::size_t at = indent_of(line); at < line.size(); ++at) {
    const bool begins = at >= 2 && line[at] != ' ' && line.substr(at - 2, 2) == "  ";
    if (begins && columns_of(line.substr(0, at)) == column) return at;
  }
  return std::nullopt;
}

/// The column at which most of these lines have their second column, if it makes a list of them.
std::optional<std::size_t> second_column(const std::vector<std::string_view>& lines) {
  std::map<std::size_t, std::size_t> votes;
  for (const std::string_view line : lines) {
    for (std::size_t at = indent_of(line) + 1; at < line.size(); ++at) {
      const bool begins = at >= 2 && line[at] != ' ' && line.substr(at - 2, 2) == "  ";
      if (begins) ++votes[columns_of(line.substr(0, at))];
    }
  }
  const auto most = std::ranges::max_element(
      votes, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end()) return std::nullopt;
  const auto fit = std::ranges::count_if(
      lines, [&](std::string_view line) { return word_at_column(line, most->first).has_value(); });
  return 2 * static_cast<std::size_t>(fit) > lines.size() ? std::optional(most->first)
                                                          : std::nullopt;
}

/// A list of two columns: what stands in the second is filled into lines.
std::string roff_list(const std::vector<std::string_view>& lines, std::size_t column) {
  constexpr std::size_t widest = 28;
  std::size_t least = column;
  for (const std::string_view line : lines) least = std::min(least, indent_of(line));
  const std::size_t width = column - least;
  std::string out;
  std::string text;
  const auto finish = [&out, &text] {
    out += text.empty() ? "" : roff_paragraph(text);
    text.clear();
    if (!out.empty() && out.find(".PD 0\n") == std::string::npos)
      out += ".PD 0\n";  // no empty lines between rows
  };
  for (const std::string_view line : lines) {
    const std::optional<std::size_t> at = word_at_column(line, column);
    if (indent_of(line) != column) {
      finish();
      std::string_view tag = line.substr(0, at.value_or(line.size()));
      tag = tag.substr(0, tag.find_last_not_of(' ') + 1);
      out += ".TP " + std::to_string(width > widest ? 8 : width) + "\n";
      for (std::size_t i = least; i < indent_of(tag); ++i) out += "\\ ";
      out += roff_escaped(tag.substr(indent_of(tag))) + "\n";
    }
    if (at) text += (text.empty() ? "" : " ") + std::string(line.substr(*at));
  }
  finish();
  return out + ".PD\n";
}

/// A word of a paragraph. One that is longer than a narrow column may be broken behind its colons.
std::string roff_word(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string out;
  for (std::size_t colon = word.find(':'); word.size() > longest && colon != std::string_view::npos;
       colon = word.find(':')) {
    out += roff_escaped(word.substr(0, colon + 1)) +
           (word.substr(0, colon).ends_with('[') ? "" : "\\:");
    word.remove_prefix(colon + 1);
  }
  return out + roff_escaped(word);
}

/// The places at which a line of a shell may be broken: before an option, outside of quotes.
std::vector<std::size_t> places_to_break(std::string_view line) {
  std::vector<std::size_t> places;
  char quote = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (quote == 0 ? line[i] == '\'' || line[i] == '"' : line[i] == quote) {
      quote = quote == 0 ? line[i] : '\0';
    }
    const bool option = line[i - 1] == ' ' && line.substr(i).starts_with("--");
    if (quote == 0 && option) places.push_back(i);
  }
  return places;
}

/// Lines that stay as they are; commands that are too long for a terminal of 80 columns go on in
/// the next line.
std::string roff_verbatim(const std::vector<std::string_view>& lines) {
  constexpr std::size_t widest = 66;
  std::size_t least = lines.front().size();
  for (const std::string_view line : lines) least = std::min(least, indent_of(line));
  std::string out = ".RS 4\n.nf\n";
  for (std::string_view line : lines) {
    line.remove_prefix(least);
    std::size_t from = 0;
    std::size_t last = 0;
    std::vector<std::size_t> places = places_to_break(line);
    places.push_back(line.size());
    for (const std::size_t place : places) {
      if (columns_of(line.substr(from, place - from)) > widest && last > from) {
        out += (from == 0 ? "" : "    ") + roff_escaped(line.substr(from, last - from - 1)) +
               " \\(rs\n";
        from = last;
      }
      last = place;
    }
    out += (from == 0 ? "" : "    ") + roff_escaped(line.substr(from)) + "\n";
  }
  return out + ".fi\n.RE\n";
}

}  // namespace

std::string roff_escaped(std::string_view text) {
  std::string out = text.starts_with('.') ? "\\&" : "";
  while (!text.empty()) {
    const std::size_t length =
        std::min(utf8_length(static_cast<unsigned char>(text[0])), text.size());
    out += roff_character(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

std::string roff_paragraph(std::string_view text) {
  constexpr std::size_t widest = 78;
  std::string out;
  std::string line;
  bool bold = false;
  for (std::string_view word : split(text, ' ')) {
    std::string roff;
    for (std::size_t quote = word.find('`'); quote != std::string_view::npos;
         quote = word.find('`')) {
      roff += roff_escaped(word.substr(0, quote)) + (bold ? "\\fR" : "\\fB");
      bold = !bold;
      word.remove_prefix(quote + 1);
    }
    roff += roff_word(word);
    if (!line.empty() && line.size() + roff.size() >= widest) {
      const std::size_t end = line.find_last_not_of(")");
      const bool sentence = line[end] == '.' || line[end] == '?' || line[end] == '!';
      out += line + (sentence ? "\\&\n" : "\n");  // with \& roff puts no second space there
      line.clear();
    }
    line += (line.empty() ? "" : " ") + roff;
  }
  return out + line + "\n";
}

std::string man_footer(std::string_view text) {
  std::string out;
  std::string prose;
  std::vector<std::string_view> block;
  const auto finish_prose = [&] {
    if (!prose.empty()) out += (out.empty() ? "" : ".PP\n") + roff_paragraph(prose);
    prose.clear();
  };
  const auto finish_block = [&] {
    if (block.empty()) return;
    const std::optional<std::size_t> column = second_column(block);
    out += column ? roff_list(block, *column) : roff_verbatim(block);
    block.clear();
  };
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("  ")) {
      finish_prose();
      block.push_back(line);
      continue;
    }
    finish_block();
    if (line.empty()) finish_prose();
    if (!line.empty()) prose += (prose.empty() ? "" : " ") + std::string(line);
  }
  finish_block();
  finish_prose();
  return out;
}

}  // namespace binade
