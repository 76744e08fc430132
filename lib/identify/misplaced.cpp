// SPDX-License-Identifier: Apache-2.0
//
// Constants, limits and copies among the elements that no model explains.
#include "lib/identify/misplaced.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/number/encoding_text.h"

namespace binade {
namespace {

/// Runs of numbers in ascending order: "0..3", "9".
std::vector<std::string> runs_of(const std::vector<std::size_t>& lines) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end] == lines[end - 1] + 1) ++end;
    out.push_back(end == i + 1 ? std::to_string(lines[i])
                               : fmt::format("{}..{}", lines[i], lines[end - 1]));
    i = end;
  }
  return out;
}

/// The period with which some of `all` lines return, at least twice; `all` if with none.
std::size_t period_of(const std::vector<std::size_t>& lines, std::size_t all) {
  std::vector<bool> is_in(all);
  for (const std::size_t line : lines) is_in[line] = true;
  for (std::size_t period = 2; 2 * period <= all; ++period) {
    std::size_t i = period;
    while (i < all && is_in[i] == is_in[i - period]) ++i;
    if (i == all) return period;
  }
  return all;
}

std::size_t count_of_different(std::vector<std::size_t> lines) {
  std::ranges::sort(lines);
  return lines.size() - std::ranges::unique(lines).size();
}

std::string bits_words(std::uint64_t code, const Format& f) {
  const std::string bits = fmt::format("{:0{}X}", code, (f.storage_bits() + 3) / 4);
  return is_integer(f) ? bits : fmt::format("{} ({})", value_text(code, f), bits);
}

/// The largest tiles of which elements fill some as a whole, as "tiles of 16 × 8 at (0, 8), …" by
/// their first rows and columns; "" if there are none of 16 elements.
std::string tiles_words(const KernelRun& run, std::span<const std::size_t> elements) {
  constexpr std::array edges{256, 128, 64, 32, 16, 8, 4};
  constexpr std::size_t most_places = 4;
  std::vector<bool> is_in(run.size());
  for (const std::size_t at : elements) is_in[at] = true;
  std::size_t largest = 0, count = 0;
  std::string out;
  for (const std::size_t rows : edges) {
    for (const std::size_t columns : edges) {
      if (rows * columns <= largest || rows > run.m || columns > run.n) continue;
      std::vector<std::string> places;
      std::size_t held = 0;
      const auto is_whole = [&](std::size_t row, std::size_t column) {
        const std::size_t end = std::min(run.m, row + rows),
                          last = std::min(run.n, column + columns);
        for (std::size_t i = row; i < end; ++i) {
          for (std::size_t j = column; j < last; ++j) {
            if (!is_in[i * run.n + j]) return false;
          }
        }
        held += (end - row) * (last - column);
        return true;
      };
      for (std::size_t row = 0; row < run.m; row += rows) {
        for (std::size_t column = 0; column < run.n; column += columns) {
          if (is_whole(row, column)) places.push_back(fmt::format("({}, {})", row, column));
        }
      }
      if (held != elements.size()) continue;
      largest = rows * columns;
      count = places.size();
      if (count > most_places) {
        places.resize(most_places);
        places.emplace_back("…");
      }
      out = fmt::format("{} tile{} of {} × {}, at {}", count, count == 1 ? "" : "s", rows, columns,
                        fmt::join(places, ", "));
    }
  }
  return out;
}

/// How stores of several elements leave what they write behind the end of each row at the beginning
/// of the next one; "" if they do not.
std::string spilled_words(const KernelRun& run, std::span<const std::size_t> elements) {
  if (run.dots) return "";
  for (const std::size_t width : {2, 4, 8, 16, 32}) {
    const std::size_t over = (width - run.n % width) % width;
    if (over == 0 || elements.size() != over * (run.m - 1)) continue;
    const bool all = std::ranges::all_of(
        elements, [&](std::size_t at) { return run.row(at) > 0 && run.column(at) < over; });
    if (all) {
      return fmt::format(", as by stores of {} that reach {} beyond the end of the row before",
                         width, over);
    }
  }
  return "";
}

/// The same code for zeros of either sign.
std::uint64_t unsigned_zero(std::uint64_t code, const Format& f) {
  return number_in(code, f) == 0 && !is_integer(f) ? zero_bits(f, false) : code;
}

/// The most frequent bits of some elements, and how many hold them; of zeros those of +0.
std::pair<std::uint64_t, std::size_t> commonest(const KernelCase& x,
                                                std::span<const std::size_t> elements) {
  std::unordered_map<std::uint64_t, std::size_t> counts;
  std::pair<std::uint64_t, std::size_t> out{0, 0};
  for (const std::size_t at : elements) {
    const std::uint64_t code = unsigned_zero(x.run.d[at], x.types.d);
    const std::size_t n = ++counts[code];
    if (n > out.second) out = {code, n};
  }
  return out;
}

/// The triangle of D that holds a code, also where a sum is equal to it.
std::string mask_words(const KernelRun& run, std::uint64_t code,
                       std::span<const std::size_t> elements) {
  std::vector<std::size_t> all;
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (run.d[at] == code) all.push_back(at);
  }
  return all.size() < elements.size() ? "" : triangle_words(run, all);
}

/// What D holds where the sum of the products is 0: C, scaled, and the bias, rounded as in
/// binary32; nothing of integers that are scaled.
std::optional<std::uint64_t> addends_alone(const KernelCase& x, std::size_t at) {
  const KernelRun& run = x.run;
  const Format& f = x.types.d;
  const bool has_c = !run.c.empty(), has_bias = !run.bias.empty();
  if (has_c && !has_bias && x.types.c == f && x.epilogue.beta == 1) return run.c[at];
  if (is_integer(f) || (has_c && is_integer(x.types.c))) return std::nullopt;
  const double c = has_c ? x.epilogue.beta * number_in(run.c[at], x.types.c) : 0;
  const double bias = has_bias ? number_in(run.bias[run.column(at)], x.types.bias) : 0;
  const double sum = f == binary64 ? c + bias : static_cast<float>(static_cast<float>(c) + bias);
  return convert(std::bit_cast<std::uint64_t>(sum), binary64, f).bits;
}

/// What is added to the sum, without one: C as it was, the bias.
MisplacedBits without_sum(const KernelCase& x, std::span<const std::size_t> elements,
                          const std::vector<std::uint64_t>& emulated) {
  const KernelRun& run = x.run;
  if (run.c.empty() && run.bias.empty()) return {};
  std::vector<std::size_t> same;
  bool are_negative = true;
  for (const std::size_t at : elements) {
    const std::optional<std::uint64_t> alone = addends_alone(x, at);
    if (!alone || run.d[at] != *alone) continue;
    same.push_back(at);
    are_negative =
        are_negative && number_in(emulated[at], x.types.d) <= number_in(*alone, x.types.d);
  }
  if (same.size() < 4 || 10 * same.size() < 9 * elements.size()) return {};
  const std::string addends = run.c.empty()      ? "the bias"
                              : run.bias.empty() ? run.c_words
                                                 : run.c_words + " and the bias";
  if (are_negative && same.size() >= 16 && triangle_words(run, same).empty()) {
    return {fmt::format(
                "{} elements hold {} alone where the sum is negative, as with a ReLU before "
                "{} {} added: {}",
                same.size(), addends, addends,
                addends.find(" and ") == std::string::npos ? "is" : "are", region_words(run, same)),
            same.size()};
  }
  return {fmt::format("{} elements hold {} as it was, without a sum: {}", same.size(), addends,
                      region_words(x.run, same)),
          same.size()};
}

MisplacedBits constant(const KernelCase& x, std::span<const std::size_t> some,
                       const std::vector<std::uint64_t>& emulated) {
  const Format& f = x.types.d;
  const auto [code, count_of_some] = commonest(x, some);
  const double value = number_in(code, f);
  const bool zero = value == 0;
  const auto holds_it = [&x, code = code](std::uint64_t d) {
    return unsigned_zero(d, x.types.d) == code;
  };
  // Elements that are not far off may hold it, too.
  std::vector<std::size_t> elements(some.begin(), some.end());
  std::size_t count = count_of_some;
  for (std::size_t at = 0; at < x.run.size(); ++at) {
    if (!holds_it(x.run.d[at]) || holds_it(emulated[at]) || std::ranges::binary_search(some, at))
      continue;
    elements.push_back(at);
    ++count;
  }
  std::ranges::sort(elements);
  if (10 * count_of_some < 9 * some.size() || (count < 2 && !zero && std::isfinite(value)))
    return {};
  const auto all = [&](auto holds) {
    return std::ranges::all_of(elements, [&](std::size_t at) {
      return !holds_it(x.run.d[at]) || holds(number_in(emulated[at], f));
    });
  };
  const std::string where = region_words(x.run, elements);
  const std::uint64_t first = x.run.d[*std::ranges::find_if(
      elements, [&](std::size_t at) { return holds_it(x.run.d[at]); })];
  const bool is_one = std::ranges::all_of(
      elements, [&](std::size_t at) { return !holds_it(x.run.d[at]) || x.run.d[at] == first; });
  const std::string bits = is_one ? bits_words(first, f) : "a zero, of either sign";
  if (const std::string mask = mask_words(x.run, code, elements); !mask.empty()) {
    return {
        fmt::format("{} elements hold {} {}: a mask, as of causal attention", count, bits, mask),
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
  if (std::isnan(value) && all([](double sum) { return std::isnan(sum); })) {
    return {fmt::format("{} elements hold {}, where the sum is NaN, too, of other bits: {}", count,
                        bits, where),
            count};
  }
  return {fmt::format("{} elements hold {}: never written, or written by nobody who knew the sum "
                      "(a race, a missing tile): {}{}",
                      count, bits, where, spilled_words(x.run, elements)),
          count};
}

/// Zeros of either sign in the place of subnormal numbers.
MisplacedBits flushed(const KernelCase& x, std::span<const std::size_t> elements,
                      const std::vector<std::uint64_t>& emulated) {
  const Format& f = x.types.d;
  if (is_integer(f) || !f.has_subnormals()) return {};
  std::vector<std::size_t> zeros;
  for (const std::size_t at : elements) {
    const bool tiny = std::abs(number_in(emulated[at], f)) < std::ldexp(1.0, f.emin());
    if (tiny && number_in(x.run.d[at], f) == 0) zeros.push_back(at);
  }
  if (10 * zeros.size() < 9 * elements.size()) return {};
  return {fmt::format("{} elements that are subnormal are flushed to zero: {}", zeros.size(),
                      region_words(x.run, zeros)),
          zeros.size()};
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

/// Sums of integers of which a narrower accumulator kept the low bits.
MisplacedBits wrapped(const KernelCase& x, std::span<const std::size_t> elements,
                      const std::vector<std::uint64_t>& emulated) {
  if (!is_integer(x.types.d)) return {};
  for (const int bits : {8, 16, 24}) {
    std::size_t count = 0;
    for (const std::size_t at : elements) {
      const auto low = static_cast<std::uint32_t>(emulated[at] << (32 - bits));
      const std::int32_t kept = static_cast<std::int32_t>(low) >> (32 - bits);
      count += x.run.d[at] == static_cast<std::uint32_t>(kept) ? 1U : 0U;
    }
    if (10 * count < 9 * elements.size()) continue;
    return {fmt::format("{} elements hold the low {} bits of the sum, as of an accumulator of {} "
                        "bits that wraps",
                        count, bits, bits),
            count};
  }
  return {};
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

/// Rows of a model in the place of others, as a whole: bits of few values repeat within them.
MisplacedBits other_rows(const KernelRun& run, std::span<const std::size_t> elements,
                         const std::vector<std::uint64_t>& emulated) {
  constexpr std::size_t least_length = 8, most_words_told = 4;
  if (run.dots || run.n < least_length) return {};
  std::vector<std::size_t> rows;
  for (const std::size_t at : elements) {
    if (rows.empty() || rows.back() != run.row(at)) rows.push_back(run.row(at));
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto row_of = [&](const std::vector<std::uint64_t>& all, std::size_t row) {
    return std::span(all).subspan(row * run.n, run.n);
  };
  std::vector<std::string> words;
  for (const std::size_t row : rows) {
    std::size_t from = 0;
    while (from < run.m && !std::ranges::equal(row_of(run.d, row), row_of(emulated, from))) ++from;
    if (from == run.m) return {};
    words.push_back(fmt::format("row {} holds that of row {}", row, from));
  }
  if (words.empty()) return {};
  const bool are_more = words.size() > most_words_told;
  if (are_more) words.resize(most_words_told);
  return {fmt::format("rows in the place of others: {}{}", fmt::join(words, ", "),
                      are_more ? ", …" : ""),
          elements.size()};
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
  std::vector<std::string> runs = runs_of(lines);
  if (runs.size() > most) {
    const std::size_t period = period_of(lines, all);
    lines.erase(std::ranges::lower_bound(lines, period), lines.end());
    if (period < all) {
      return fmt::format("{} {} of each {}", noun, fmt::join(runs_of(lines), ", "), period);
    }
    runs.resize(most);
    runs.emplace_back("…");
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
  if (run.dots) return lines_words(std::move(rows), run.m, "rows");
  const std::size_t box = count_of_different(rows) * count_of_different(columns);
  if (box != elements.size()) {
    if (std::string words = triangle_words(run, elements); !words.empty()) return words;
    if (std::string words = tiles_words(run, elements); !words.empty()) return words;
    if (box == run.size()) return "spread over all rows and columns";
  }
  std::string out = lines_words(std::move(rows), run.m, "rows") + ", " +
                    lines_words(std::move(columns), run.n, "columns");
  if (box != elements.size()) out += fmt::format(" ({} of these {})", elements.size(), box);
  return out;
}

std::string triangle_words(const KernelRun& run, std::span<const std::size_t> elements) {
  if (run.dots || run.m < 3 || run.n < 3 || elements.size() < 6) return "";
  // Diagonal d holds the elements whose column is their row + d.
  const auto diagonal = [&](std::size_t at) {
    return static_cast<std::ptrdiff_t>(run.column(at)) - static_cast<std::ptrdiff_t>(run.row(at));
  };
  std::ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
  for (const std::size_t at : elements) {
    low = std::min(low, diagonal(at));
    high = std::max(high, diagonal(at));
  }
  std::size_t above = 0, below = 0;
  for (std::size_t at = 0; at < run.size(); ++at) {
    above += diagonal(at) >= low ? 1U : 0U;
    below += diagonal(at) <= high ? 1U : 0U;
  }
  const auto words = [](const char* relation, std::ptrdiff_t d) {
    return d == 0
               ? fmt::format("where column {} row", relation)
               : fmt::format("where column {} row {} {}", relation, d < 0 ? "-" : "+", std::abs(d));
  };
  if (above == elements.size()) return low == 1 ? "where column > row" : words(">=", low);
  if (below == elements.size()) return high == -1 ? "where column < row" : words("<=", high);
  return "";
}

std::string one_value_words(const KernelCase& x, const NearSums& sums) {
  const KernelRun& run = x.run;
  const Format& f = x.types.d;
  const std::uint64_t first = unsigned_zero(run.d[0], f);
  const bool same =
      std::ranges::all_of(run.d, [&](std::uint64_t d) { return unsigned_zero(d, f) == first; });
  if (!same || run.size() < 4) return "";
  bool near = true, tiny = true;
  for (std::size_t at = 0; at < run.size(); ++at) {
    near = near && is_near(sums, at, f);
    tiny = tiny && std::abs(sums.exact[at]) < std::ldexp(1.0, f.emin());
  }
  if (near) return "";
  const bool flushed = number_in(run.d[0], f) == 0 && tiny && !is_integer(f) && f.has_subnormals();
  if (flushed) return "every sum is subnormal, and flushed to zero";
  const bool of_one_sign = std::ranges::all_of(run.d, [&](auto d) { return d == run.d[0]; });
  return fmt::format("every element holds {}: D was never written, or not with sums",
                     of_one_sign ? fmt::format("{:X}", run.d[0]) : "a zero, of either sign");
}

std::string right_lines_words(const KernelRun& run, const std::vector<bool>& right) {
  constexpr std::size_t fewest_in_line = 8;  // a whole line is right by chance where D is narrow
  if (run.dots) return "";
  for (const bool of_rows : {true, false}) {
    const std::size_t lines = of_rows ? run.m : run.n, length = of_rows ? run.n : run.m;
    std::vector<std::size_t> equal(lines), whole;
    for (std::size_t at = 0; at < right.size(); ++at) {
      equal[of_rows ? run.row(at) : run.column(at)] += right[at] ? 1U : 0U;
    }
    std::size_t elsewhere = 0;
    for (std::size_t line = 0; line < lines; ++line) {
      if (equal[line] == length) {
        whole.push_back(line);
      } else {
        elsewhere += equal[line];
      }
    }
    const std::size_t others = (lines - whole.size()) * length;
    const bool is_evident = length >= fewest_in_line && 16 * whole.size() >= lines &&
                            whole.size() >= 2 && 4 * elsewhere < others;
    if (is_evident) return lines_words(std::move(whole), lines, of_rows ? "rows" : "columns");
  }
  return "";
}

MisplacedBits misplaced(const KernelCase& x, std::span<const std::size_t> elements,
                        const std::vector<std::uint64_t>& emulated) {
  if (elements.empty()) return {};
  if (const MisplacedBits out = without_sum(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = flushed(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = constant(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = clipped(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = wrapped(x, elements, emulated); !out.words.empty()) return out;
  if (const MisplacedBits out = copied(x.run, elements); !out.words.empty()) return out;
  if (const MisplacedBits out = displaced(x.run, elements, emulated); !out.words.empty())
    return out;
  return other_rows(x.run, elements, emulated);
}

}  // namespace binade
