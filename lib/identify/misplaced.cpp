// SPDX-License-Identifier: Apache-2.0
//
// Constants, limits and copies among the elements that no model explains.
#include "lib/identify/misplaced.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "emulate/integer_dot.h"
#include "lib/number/encoding_text.h"

namespace binade {
namespace {

std::string bits_words(std::uint64_t code, const Format& f) {
  const std::string bits = fmt::format("{:0{}X}", code, (f.storage_bits() + 3) / 4);
  return is_integer(f) ? bits : fmt::format("{} ({})", value_text(code, f), bits);
}

/// The most frequent bits of some elements, and how many hold them.
std::pair<std::uint64_t, std::size_t> commonest(const KernelRun& run,
                                                std::span<const std::size_t> elements) {
  std::unordered_map<std::uint64_t, std::size_t> counts;
  std::pair<std::uint64_t, std::size_t> out{0, 0};
  for (const std::size_t at : elements) {
    const std::size_t n = ++counts[run.d[at]];
    if (n > out.second) out = {run.d[at], n};
  }
  return out;
}

MisplacedBits constant(const KernelCase& x, std::span<const std::size_t> elements,
                       const std::vector<std::uint64_t>& emulated) {
  const Format& f = x.types.d;
  const auto [code, count] = commonest(x.run, elements);
  const double value = number_in(code, f);
  const bool zero = value == 0;
  if (10 * count < 9 * elements.size() || (count < 2 && !zero && std::isfinite(value))) return {};
  const auto all = [&](auto holds) {
    return std::ranges::all_of(elements, [&](std::size_t at) {
      return x.run.d[at] != code || holds(number_in(emulated[at], f));
    });
  };
  const std::string where = region_words(x.run, elements);
  const std::string bits = bits_words(code, f);
  if (zero && f.has_subnormals() &&
      all([&](double sum) { return std::abs(sum) < std::ldexp(1.0, f.emin()); })) {
    return {fmt::format("{} elements that are subnormal are flushed to {}: {}", count, bits, where),
            count};
  }
  if (zero && count > 1 && all([](double sum) { return sum <= 0; })) {
    return {fmt::format("{} elements hold {} where the sum is negative, as after a ReLU: {}", count,
                        bits, where),
            count};
  }
  if (value != 0 && std::isfinite(value) &&
      all([&](double sum) { return value > 0 ? !(sum < value) : !(sum > value); })) {
    return {fmt::format("{} elements are cut off at {}, beyond which the sum is: {}", count, bits,
                        where),
            count};
  }
  return {fmt::format("{} elements hold {}: never written, or written by nobody who knew the sum "
                      "(a race, a missing tile): {}",
                      count, bits, where),
          count};
}

/// Two limits of opposite signs.
MisplacedBits clipped(const KernelCase& x, std::span<const std::size_t> elements,
                      const std::vector<std::uint64_t>& emulated) {
  if (elements.size() < 2) return {};
  const Format& f = x.types.d;
  double high = -HUGE_VAL, low = HUGE_VAL;
  for (const std::uint64_t code : x.run.d) {
    const double value = number_in(code, f);
    high = value > high ? value : high;
    low = value < low ? value : low;
  }
  std::size_t count = 0;
  for (const std::size_t at : elements) {
    const double value = number_in(x.run.d[at], f), sum = number_in(emulated[at], f);
    count += (value == high && !(sum < high)) || (value == low && !(sum > low)) ? 1U : 0U;
  }
  if (10 * count < 9 * elements.size()) return {};
  return {fmt::format("{} elements are cut off at {:.9g} and {:.9g}, beyond which the sum is "
                      "(saturated)",
                      count, low, high),
          count};
}

/// The same bits as those of another part of D.
MisplacedBits copied(const KernelRun& run, std::span<const std::size_t> elements) {
  constexpr std::size_t most_origins = 4096;
  if (run.dots || elements.size() < 2) return {};
  std::size_t top = run.m, bottom = 0, left = run.n, right = 0;
  for (const std::size_t at : elements) {
    top = std::min(top, run.row(at));
    bottom = std::max(bottom, run.row(at));
    left = std::min(left, run.column(at));
    right = std::max(right, run.column(at));
  }
  const std::size_t rows = bottom - top + 1, columns = right - left + 1;
  if (5 * elements.size() < 4 * rows * columns) return {};
  std::size_t origins = 0;
  for (std::size_t i = 0; i + rows <= run.m && origins < most_origins; ++i) {
    for (std::size_t j = 0; j + columns <= run.n; ++j) {
      if ((i == top && j == left) || run.d[i * run.n + j] != run.d[top * run.n + left]) continue;
      ++origins;
      bool same = true;
      for (std::size_t r = 0; r < rows && same; ++r) {
        same =
            std::equal(run.d.begin() + static_cast<std::ptrdiff_t>((i + r) * run.n + j),
                       run.d.begin() + static_cast<std::ptrdiff_t>((i + r) * run.n + j + columns),
                       run.d.begin() + static_cast<std::ptrdiff_t>((top + r) * run.n + left));
      }
      if (!same) continue;
      return {
          fmt::format("rows {}..{}, columns {}..{} are a copy of rows {}..{}, columns {}..{}: one "
                      "tile written in the place of another",
                      top, bottom, left, right, i, i + rows - 1, j, j + columns - 1),
          elements.size()};
    }
  }
  return {};
}

/// The bits of a model at other places: offsets by which most elements are displaced.
MisplacedBits displaced(const KernelRun& run, std::span<const std::size_t> elements,
                        const std::vector<std::uint64_t>& emulated) {
  constexpr std::size_t most_offsets = 4;
  if (run.dots || elements.size() < 4) return {};
  constexpr std::size_t several = SIZE_MAX;
  std::unordered_map<std::uint64_t, std::size_t> origin;
  for (std::size_t at = 0; at < emulated.size(); ++at) {
    const auto [found, is_first] = origin.try_emplace(emulated[at], at);
    if (!is_first) found->second = several;
  }
  struct Offset {
    std::ptrdiff_t rows = 0, columns = 0;
    std::size_t count = 0;
    std::vector<std::size_t> elements = {};
  };
  std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, std::size_t> counts;
  const auto row = [&](std::size_t at) { return static_cast<std::ptrdiff_t>(run.row(at)); };
  const auto column = [&](std::size_t at) { return static_cast<std::ptrdiff_t>(run.column(at)); };
  for (const std::size_t at : elements) {
    const auto found = origin.find(run.d[at]);
    if (found == origin.end() || found->second == several) continue;
    ++counts[{row(found->second) - row(at), column(found->second) - column(at)}];
  }
  std::vector<Offset> offsets;
  for (const auto& [by, count] : counts) {
    if (20 * count >= elements.size()) offsets.push_back({by.first, by.second, count});
  }
  std::ranges::stable_sort(offsets, std::greater<>{}, &Offset::count);
  if (offsets.size() > most_offsets) offsets.resize(most_offsets);
  std::size_t count = 0;
  for (const std::size_t at : elements) {
    for (Offset& by : offsets) {
      const std::ptrdiff_t i = row(at) + by.rows, j = column(at) + by.columns;
      const bool inside = i >= 0 && j >= 0 && i < static_cast<std::ptrdiff_t>(run.m) &&
                          j < static_cast<std::ptrdiff_t>(run.n);
      if (!inside || emulated[static_cast<std::size_t>(i) * run.n + static_cast<std::size_t>(j)] !=
                         run.d[at]) {
        continue;
      }
      by.elements.push_back(at);
      ++count;
      break;
    }
  }
  if (10 * count < 9 * elements.size()) return {};
  std::string words;
  for (const Offset& by : offsets) {
    if (by.elements.empty()) continue;
    words +=
        fmt::format("{}{} hold what belongs {:+d} rows and {:+d} columns from there",
                    words.empty() ? "" : "; ", region_words(run, by.elements), by.rows, by.columns);
  }
  return {words, count};
}

}  // namespace

std::string lines_words(std::vector<std::size_t> lines, std::size_t all, const char* noun) {
  constexpr std::size_t most = 4;
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  if (lines.size() == all) return fmt::format("all {}", noun);
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end] == lines[end - 1] + 1) ++end;
    if (runs.size() == most) {
      runs.emplace_back("…");
      break;
    }
    runs.push_back(end == i + 1 ? std::to_string(lines[i])
                                : fmt::format("{}..{}", lines[i], lines[end - 1]));
    i = end;
  }
  // One line is "row 5".
  const std::string_view name(noun, std::string_view(noun).size() - (lines.size() == 1 ? 1 : 0));
  return fmt::format("{} {}", name, fmt::join(runs, ", "));
}

std::string region_words(const KernelRun& run, std::span<const std::size_t> elements) {
  std::vector<std::size_t> rows, columns;
  for (const std::size_t at : elements) {
    rows.push_back(run.row(at));
    columns.push_back(run.column(at));
  }
  if (!run.dots && run.m > 2 && run.n > 2) {
    const auto half = [&](auto belongs) {
      std::size_t all = 0;
      for (std::size_t i = 0; i < run.m; ++i) {
        for (std::size_t j = 0; j < run.n; ++j) all += belongs(i, j) ? 1U : 0U;
      }
      return all == elements.size() && std::ranges::all_of(elements, [&](std::size_t at) {
               return belongs(run.row(at), run.column(at));
             });
    };
    if (half([](std::size_t i, std::size_t j) { return j > i; })) return "all above the diagonal";
    if (half([](std::size_t i, std::size_t j) { return j < i; })) return "all below the diagonal";
  }
  const std::string of_rows = lines_words(std::move(rows), run.m, "rows");
  if (run.dots) return of_rows;
  return of_rows + ", " + lines_words(std::move(columns), run.n, "columns");
}

MisplacedBits misplaced(const KernelCase& x, std::span<const std::size_t> elements,
                        const std::vector<std::uint64_t>& emulated) {
  if (elements.empty()) return {};
  if (const MisplacedBits out = constant(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = clipped(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = copied(x.run, elements); !out.words.empty()) return out;
  return displaced(x.run, elements, emulated);
}

}  // namespace binade
