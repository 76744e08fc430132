// SPDX-License-Identifier: Apache-2.0
//
// Takes a product in groups apart, and multiplies rows that are wrong by what other groups have.
#include "lib/identify/grouped_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/search.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_wrong_rows = 128;  // of a group that are tried
constexpr std::size_t most_words = 6;         // that are told
constexpr std::size_t least_columns = 2;

/// What of another group a row may have met.
struct Taken {
  const char* words;
  bool b, scales;
};
constexpr Taken kinds[]{{"the B", true, true},
                        {"the B, under their own scales,", true, false},
                        {"the scales of B", false, true}};

bool has_scales(const KernelRun& x) { return !x.b_scale.empty() || !x.runs.b.empty(); }

/// Rows of a run with what another one has of B.
GemmOperands rows_by(const KernelRun& own, const KernelRun& other, const Taken& taken,
                     std::span<const std::size_t> rows) {
  const KernelRun& b = taken.b ? other : own;
  const KernelRun& scales = taken.scales ? other : own;
  GemmOperands out{.m = rows.size(), .n = own.n, .k = own.k};
  out.b = b.b;
  out.bias = b.bias;
  out.b_scale = scales.b_scale;
  out.runs = {own.runs.length, {}, scales.runs.b};
  const auto add = [](auto& to, const auto& from, std::size_t line, std::size_t width) {
    if (from.empty()) return;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(line * width);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  };
  for (const std::size_t row : rows) {
    add(out.a, own.a, row, own.k);
    add(out.c, own.c, row, own.n);
    add(out.a_scale, own.a_scale, row, 1);
    add(out.runs.a, own.runs.a, row, own.runs.count(own.k));
  }
  return out;
}

/// Which run, and which of its rows, a row of A is.
struct PlacedRow {
  const KernelRun* run = nullptr;
  std::size_t row = 0;
};

/// Returns the rows of A by their numbers; those that are in no run are null.
std::vector<PlacedRow> placed_rows(std::span<const KernelRun> runs) {
  std::vector<PlacedRow> out;
  for (const KernelRun& run : runs) {
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      if (run.rows[i] >= out.size()) out.resize(run.rows[i] + 1);
      out[run.rows[i]] = {&run, i};
    }
  }
  return out;
}

/// Rows of a run with the scales of A that a kernel finds which does not add the group's first row:
/// row i of the group takes those of row i of A. Nothing where one of these is not known.
std::optional<GemmOperands> rows_without_offset(const KernelRun& own,
                                                const std::vector<PlacedRow>& placed,
                                                std::span<const std::size_t> rows) {
  GemmOperands out = rows_by(own, own, kinds[0], rows);
  const std::size_t count = own.runs.count(own.k);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= placed.size() || placed[rows[i]].run == nullptr) return {};
    const auto& [from, row] = placed[rows[i]];
    if (!out.a_scale.empty()) out.a_scale[i] = from->a_scale[row];
    for (std::size_t at = 0; at < count && !out.runs.a.empty(); ++at) {
      out.runs.a[i * count + at] = from->runs.a[row * count + at];
    }
  }
  return out;
}

/// Returns how many elements of each of these rows are equal to the product x, of these rows alone.
std::vector<std::size_t> equal_by_row(const GemmModel& g, const KernelRun& run,
                                      const GemmOperands& x, std::span<const std::size_t> rows) {
  const std::vector<std::uint64_t> d = gemm(g, x);
  std::vector<std::size_t> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < run.n; ++j) {
      const bool same = is_same_result(d[i * run.n + j], run.d[rows[i] * run.n + j], g.epilogue.out,
                                       any_nan_fits(g));
      out[i] += same ? 1 : 0;
    }
  }
  return out;
}

std::vector<std::size_t> all_rows(const KernelRun& run) {
  std::vector<std::size_t> out(run.m);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// A row that is not given as a whole.
struct WrongRow {
  std::size_t row = 0, equal = 0;
};

/// Returns the wrong rows of a run, and adds to `equal` how many elements of all rows are right.
std::vector<WrongRow> wrong_rows(const GemmModel& g, const KernelRun& run, std::size_t& equal) {
  const std::vector<std::size_t> by_row = equal_by_row(g, run, operands_of(run), all_rows(run));
  std::vector<WrongRow> out;
  for (std::size_t row = 0; row < run.m; ++row) {
    equal += by_row[row];
    if (by_row[row] != run.n) out.push_back({row, by_row[row]});
  }
  if (out.size() <= most_wrong_rows) return out;
  std::vector<WrongRow> some;
  for (const std::size_t at : spread_places(out.size(), most_wrong_rows)) some.push_back(out[at]);
  return some;
}

/// Numbers in order: "3, 40..47".
std::string ranges_text(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0, end = 0; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    parts.push_back(end == i + 1 ? std::to_string(numbers[i])
                                 : fmt::format("{}..{}", numbers[i], numbers[end - 1]));
  }
  const bool more = parts.size() > most_words;
  if (more) parts.resize(most_words);
  return fmt::format("{}{}", fmt::join(parts, ", "), more ? ", …" : "");
}

/// "rows 40..47 of group 3", "row 5 of group 0", "all rows of group 3".
std::string rows_words(const KernelRun& run, const std::vector<std::size_t>& rows) {
  if (rows.size() == run.m) return "all rows of " + run.name;
  std::vector<std::size_t> numbers;
  for (const std::size_t row : rows) numbers.push_back(run.rows[row]);
  return fmt::format("row{} {} of {}", rows.size() == 1 ? "" : "s", ranges_text(numbers), run.name);
}

}  // namespace

std::vector<KernelRun> runs_of_groups(const GemmOperands& x, const std::vector<std::uint64_t>& d) {
  std::vector<KernelRun> out;
  const std::vector<GroupedRows> all = grouped_rows(x.groups, x.m);
  for (std::size_t group = 0; group < x.groups.count; ++group) {
    GemmOperands one = product_of_group(x, group);
    KernelRun run{.m = one.m, .n = one.n, .k = one.k};
    run.a = std::move(one.a);
    run.b = std::move(one.b);
    run.c = std::move(one.c);
    run.bias = std::move(one.bias);
    run.a_scale = std::move(one.a_scale);
    run.b_scale = std::move(one.b_scale);
    run.runs = std::move(one.runs);
    run.name = fmt::format("group {}", group);
    for (const GroupedRows& rows : all) {
      if (rows.group != group) continue;
      for (std::size_t i = rows.first; i < rows.first + rows.count; ++i) run.rows.push_back(i);
      const auto begin = d.begin() + static_cast<std::ptrdiff_t>(rows.first * x.n);
      run.d.insert(run.d.end(), begin, begin + static_cast<std::ptrdiff_t>(rows.count * x.n));
    }
    out.push_back(std::move(run));
  }
  return out;
}

std::vector<std::size_t> equal_elements(const GemmModel& g, std::span<const KernelRun> runs) {
  std::vector<std::size_t> out;
  for (const KernelRun& run : runs) {
    const auto by_row = equal_by_row(g, run, operands_of(run), all_rows(run));
    out.push_back(std::accumulate(by_row.begin(), by_row.end(), std::size_t{0}));
  }
  return out;
}

std::size_t run_of_most_wrong(std::span<const KernelRun> runs, std::span<const std::size_t> equal) {
  std::size_t out = 0;
  const auto wrong = [&](std::size_t i) { return runs[i].size() - equal[i]; };
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (wrong(i) > wrong(out)) out = i;
  }
  return out;
}

KernelRun first_rows(const KernelRun& run, std::size_t rows) {
  KernelRun out = run;
  out.m = std::min(run.m, rows);
  const auto cut = [&](auto& x, std::size_t each) {
    if (!x.empty()) x.resize(out.m * each);
  };
  cut(out.a, run.k);
  cut(out.c, run.n);
  cut(out.d, run.n);
  cut(out.a_scale, 1);
  cut(out.runs.a, run.runs.count(run.k));
  cut(out.rows, 1);
  return out;
}

std::vector<KernelRun> take_idle(std::vector<KernelRun>& runs) {
  std::vector<KernelRun> out;
  for (const KernelRun& run : runs) {
    if (run.m == 0 && !run.name.empty()) out.push_back(run);
  }
  std::erase_if(runs, [](const KernelRun& run) { return run.m == 0 && !run.name.empty(); });
  return out;
}

std::string rows_text(const KernelRun& run) { return ranges_text(run.rows); }

std::optional<WrongGroups> wrong_groups(const GemmModel& g, std::span<const KernelRun> runs,
                                        std::span<const KernelRun> idle) {
  if (runs.empty() || is_smooth(g.epilogue.activation) || runs[0].n < least_columns) return {};
  WrongGroups out;
  std::vector<std::string> parts;
  const std::vector<PlacedRow> placed = placed_rows(runs);
  std::vector<const KernelRun*> others;
  for (const std::span<const KernelRun> some : {runs, idle}) {
    for (const KernelRun& other : some) others.push_back(&other);
  }
  for (const KernelRun& run : runs) {
    poll();
    std::vector<WrongRow> wrong = wrong_rows(g, run, out.equal);
    out.elements += run.size();
    // Takes the rows out of those that are wrong which the product of them gives as a whole.
    const auto take_whole = [&](const GemmOperands& x, const std::vector<std::size_t>& rows) {
      const std::vector<std::size_t> equal = equal_by_row(g, run, x, rows);
      std::vector<std::size_t> whole;
      std::vector<WrongRow> left;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (equal[i] != run.n) {
          left.push_back(wrong[i]);
          continue;
        }
        whole.push_back(rows[i]);
        out.equal += run.n - wrong[i].equal;
      }
      wrong = std::move(left);
      return whole;
    };
    for (const KernelRun* const other : others) {
      for (const Taken& taken : kinds) {
        const bool is_other = other->name != run.name && other->n == run.n && other->k == run.k;
        const bool is_all = taken.b && taken.scales;
        if (!is_other || wrong.empty() || (!is_all && !has_scales(run))) continue;
        std::vector<std::size_t> rows;
        for (const WrongRow& one : wrong) rows.push_back(one.row);
        const std::vector<std::size_t> whole = take_whole(rows_by(run, *other, taken, rows), rows);
        if (whole.empty()) continue;
        parts.push_back(
            fmt::format("{} by {} of {}", rows_words(run, whole), taken.words, other->name));
      }
    }
    const bool has_own = !run.a_scale.empty() || !run.runs.a.empty();
    if (wrong.empty() || !has_own || run.rows.empty() || run.rows[0] == 0) continue;
    std::vector<std::size_t> rows;
    for (const WrongRow& one : wrong) rows.push_back(one.row);
    const auto without = rows_without_offset(run, placed, rows);
    if (!without) continue;
    const std::vector<std::size_t> whole = take_whole(*without, rows);
    if (whole.empty()) continue;
    parts.push_back(
        fmt::format("{} by A's scales of rows {}.. of A, without the {} rows before the group",
                    rows_words(run, whole), whole[0], run.rows[0]));
  }
  if (parts.empty()) return {};
  const bool more = parts.size() > most_words;
  if (more) parts.resize(most_words);
  out.words = fmt::format("{}{}", fmt::join(parts, "; "), more ? "; …" : "");
  return out;
}

}  // namespace binade
