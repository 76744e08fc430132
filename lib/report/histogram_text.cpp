// SPDX-License-Identifier: Apache-2.0
//
// Draws bars in steps of an eighth of a row, as wide as a terminal.
#include "lib/report/histogram_text.h"
#include "lib/text/percent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace binade {
namespace {

/// What most values of a binade become in a format at scale 1: a letter, and the code of its
/// colour.
struct FateOfBinade {
  char letter;
  const char* color;
};
constexpr FateOfBinade zero_fate{'0', "31"};
constexpr FateOfBinade subnormal_fate{'s', "33"};
constexpr FateOfBinade normal_fate{'n', "32"};
constexpr FateOfBinade overflow_fate{'o', "35"};

FateOfBinade fate_of_binade(int exponent, const BinadeRow& row, const Format& format) {
  RangeSummary one;
  one.binades[exponent] = row;
  const Fates f = fates(one, format, 0);
  const std::uint64_t half = row.total() / 2;
  if (f.to_zero > half) return zero_fate;
  if (f.subnormal > half) return subnormal_fate;
  return f.overflow > half ? overflow_fate : normal_fate;
}

constexpr std::size_t plot_rows = 8;
constexpr int plot_columns = 84;

/// The binades that are drawn, one per column, and the counts of values outside of them, which are
/// told in words.
struct Window {
  int first, last;
  std::uint64_t below = 0, above = 0;
};

/// Returns all binades if they fit. Otherwise binades with up to 1 % of the values are dropped at
/// the low end, where they contribute least to the norm, and then those at the end with fewer
/// values, until the rest fits.
Window window_of(const RangeSummary& s) {
  Window w{s.binades.begin()->first, s.binades.rbegin()->first};
  const auto count = [&s](int exponent) {
    const auto at = s.binades.find(exponent);
    return at == s.binades.end() ? std::uint64_t{0} : at->second.total();
  };
  while (w.last - w.first + 1 > plot_columns) {
    const std::uint64_t low = w.below + count(w.first);
    const std::uint64_t high = w.above + count(w.last);
    if (low <= high || low <= s.nonzero() / 100) {
      w.below = low;
      ++w.first;
    } else {
      w.above = high;
      --w.last;
    }
  }
  return w;
}

/// Returns one row of a bar whose height is given in eighths of a row.
std::string bar_cell(long eighths, std::size_t row) {
  constexpr std::array<const char*, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return blocks[static_cast<std::size_t>(std::clamp(eighths - static_cast<long>(8 * row), 0L, 8L))];
}

std::string axis(const Window& w) {
  std::string marks, labels;
  for (int e = w.first; e <= w.last; ++e) {
    const bool mark = e % 10 == 0;
    marks += mark ? "┴" : "─";
    const std::string label = mark ? fmt::format("2^{}", e) : "";
    const auto column = static_cast<std::size_t>(e - w.first);
    if (mark && labels.size() <= column) labels += std::string(column - labels.size(), ' ') + label;
  }
  return fmt::format("           └{}\n            {}\n", marks, labels);
}

/// Returns marks below the binades 2^-27 to 2^-25, of which binary16 loses about half, if they are
/// in the window.
std::string band_marks(const Window& w) {
  std::string out;
  for (int e = w.first; e <= w.last; ++e) out += e >= -27 && e <= -25 ? "^" : " ";
  const std::size_t at = out.find('^');
  if (at == std::string::npos) return "";
  out.erase(out.find_last_not_of(' ') + 1);
  return "            " + out + " band 2^-27..2^-24\n";
}

std::string bars(const RangeSummary& s, const Window& w, const Paint& paint) {
  std::uint64_t most = 0;
  for (const auto& [exponent, row] : s.binades) most = std::max(most, row.total());
  const double top = static_cast<double>(most) / static_cast<double>(s.nonzero());
  std::string out;
  for (std::size_t row = plot_rows; row-- > 0;) {
    out += row + 1 == plot_rows ? fmt::format("  {:>8} ┤", percent(top)) : "           │";
    for (int e = w.first; e <= w.last; ++e) {
      const auto at = s.binades.find(e);
      if (at == s.binades.end()) {
        out += " ";
        continue;
      }
      const double part = static_cast<double>(at->second.total()) / static_cast<double>(most);
      const long eighths = std::max(1L, std::lround(part * 8.0 * plot_rows));
      const std::string cell = bar_cell(eighths, row);
      out += cell == " " ? cell : paint(fate_of_binade(e, at->second, binary16).color, cell);
    }
    out += "\n";
  }
  return out;
}

std::string fate_row(const RangeSummary& s, const Window& w, const NamedFormat& format,
                     const Paint& paint) {
  std::string out = fmt::format("  {:<9} ", format.name);
  for (int e = w.first; e <= w.last; ++e) {
    const auto at = s.binades.find(e);
    if (at == s.binades.end()) {
      out += " ";
      continue;
    }
    const FateOfBinade fate = fate_of_binade(e, at->second, format.format);
    out += paint(fate.color, std::string(1, fate.letter));
  }
  return out + "\n";
}

}  // namespace

std::string histogram_text(const Report& report, const Paint& paint) {
  const RangeSummary& s = report.total.summary;
  const Window w = window_of(s);
  std::string out = "\n" + paint(bold, "Magnitudes") +
                    "  share of the finite non-zero values per binade [2^e, 2^(e+1))\n" +
                    bars(s, w, paint) + axis(w) + band_marks(w);
  for (const NamedFormat& format : report.options.formats) out += fate_row(s, w, format, paint);
  out +=
      "  0 to zero, s subnormal, n normal, o overflow: what most values of the binade become at "
      "scale 1\n";
  const auto outside = [&](std::uint64_t n, const char* where, int exponent) {
    if (n == 0) return std::string();
    return fmt::format("  not drawn: {} of the values, {} 2^{}\n",
                       percent(static_cast<double>(n) / static_cast<double>(s.nonzero())), where,
                       exponent);
  };
  return out + outside(w.below, "below", w.first) + outside(w.above, "from", w.last + 1);
}

}  // namespace binade
