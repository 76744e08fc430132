// SPDX-License-Identifier: Apache-2.0
//
// The distance between names is the edit distance without regard to case.
#include "lib/text/spelling.h"
#include "lib/text/error.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace binade {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns Levenshtein's distance: how many insertions, deletions and substitutions turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > 64) return "";
  // "mxfp8" of mxfp8_e4m3 and mxfp8_e5m2.
  std::vector<std::string_view> longer;
  const std::string begin = lower_case(word) + '_';
  for (const std::string_view name : known) {
    if (lower_case(name) == lower_case(word)) return "; did you mean " + std::string(name) + "?";
    if (lower_case(name).starts_with(begin)) longer.push_back(name);
  }
  if (!longer.empty() && longer.size() <= 5) return "; did you mean " + alternatives(longer) + "?";
  std::string_view nearest;
  std::size_t least = 1 + std::clamp<std::size_t>(word.size() / 2, 1, 3);
  for (const std::string_view name : known) {
    const std::size_t d = edit_distance(word, name);
    if (d < least) {
      least = d;
      nearest = name;
    }
  }
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(between, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return out;
    begin = end + 1;
  }
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string listed(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::string alternatives(std::span<const std::string_view> names) {
  if (names.size() < 2) return listed(names);
  return listed(names.first(names.size() - 1)) + " or " + std::string(names.back());
}

std::string command_line(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
      return std::string_view("_./:=,+-@%").find(c) != std::string_view::npos ||
             (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    out += (out.empty() ? "" : " ") + (plain ? word : printable(quoted + "'", longest_path));
  }
  return out;
}

}  // namespace binade
