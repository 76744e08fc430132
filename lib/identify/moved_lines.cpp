// SPDX-License-Identifier: Apache-2.0
//
// The rows, and the columns, of the exact product that those of D are near to.
#include "lib/identify/moved_lines.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "lib/identify/change_fit.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_lines_moved = 8192;  // rows of D whose places are searched

/// The words for rows (or columns) that hold others: line i holds what line from[i] should.
std::string moved_words(const char* noun, const std::vector<std::size_t>& from) {
  const std::size_t n = from.size();
  const auto all = [&](auto place) {
    for (std::size_t i = 0; i < n; ++i) {
      if (from[i] != place(i)) return false;
    }
    return true;
  };
  if (all([n](std::size_t i) { return n - 1 - i; })) {
    return fmt::format("{}s in the reverse order", noun);
  }
  const std::size_t shift = from[0];
  if (shift != 0 && std::has_single_bit(shift) && all([&](std::size_t i) { return i ^ shift; })) {
    return fmt::format("{}s exchanged in blocks of {}", noun, shift);
  }
  if (shift != 0 && all([&](std::size_t i) { return (i + shift) % n; })) {
    const bool on = shift <= n / 2;
    return fmt::format("{}s shifted by {}: {} i holds {} i {} {}", noun, on ? shift : n - shift,
                       noun, noun, on ? "+" : "-", on ? shift : n - shift);
  }
  std::string out;
  std::size_t told = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    while (end < n && from[end] - end == from[i] - i) ++end;
    if (from[i] != i) {
      if (told++ == 4) return out + " …";
      out += out.empty() ? fmt::format("{}s in other places: ", noun) : ", ";
      out += end == i + 1 ? fmt::format("{} holds {}", i, from[i])
                          : fmt::format("{}..{} hold {}..{}", i, end - 1, from[i], from[end - 1]);
    }
    i = end;
  }
  return out;
}

/// Finds the rows of the exact product that rows of D are near to.
std::vector<std::size_t> places_of_lines(const KernelCase& given, bool rows) {
  const KernelRun& run = given.run;
  const std::size_t lines = rows ? run.m : run.n;
  std::vector<std::size_t> every(lines);
  std::iota(every.begin(), every.end(), std::size_t{0});
  const std::vector<std::size_t> others = spread_places(rows ? run.n : run.m, 24);
  Change bare;
  bare.without_c = bare.without_bias = true;
  const KernelCase part = part_of(given, bare, rows ? every : others, rows ? others : every, false);
  const NearSums sums = near_sums(part);
  std::vector<double> rest(part.run.size(), 0);
  const KernelCase with = part_of(given, {}, rows ? every : others, rows ? others : every, false);
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const std::size_t j = with.run.column(at);
    if (!with.run.c.empty())
      rest[at] += given.epilogue.beta * number_in(with.run.c[at], with.types.c);
    if (!with.run.bias.empty()) rest[at] += number_in(with.run.bias[j], with.types.bias);
  }
  // Sums of FP8 are cut to 13 fraction bits on sm_89 and sm_90.
  const Format& f = part.types.a;
  const double off = !is_integer(f) && f.bits() <= 8 ? 0x1p-11 : 0x1p-16;
  const std::size_t n = part.run.n;
  const auto index = [&](std::size_t line, std::size_t other) {
    return rows ? line * n + other : other * n + line;
  };
  std::vector<std::size_t> from(lines, lines);
  parallel_for(lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto near = [&](std::size_t line) {
        std::size_t wrong = 0;
        for (std::size_t o = 0; o < others.size(); ++o) {
          const std::size_t here = index(i, o), there = index(line, o);
          const double wanted = sums.exact[there] + rest[here];
          const double error = std::abs(sums.found[here] - wanted);
          const double most = 2 * ulp_at(wanted, part.types.d) + off * sums.size[there];
          wrong += error <= most ? 0U : 1U;
          if (5 * wrong > others.size()) return false;
        }
        return true;
      };
      if (near(i)) {
        from[i] = i;
        continue;
      }
      for (std::size_t line = 0; line < lines && from[i] == lines; ++line) {
        if (near(line)) from[i] = line;
      }
    }
  });
  return from;
}

void add_moved(std::vector<Change>& out, const KernelCase& given, bool rows) {
  const std::size_t lines = rows ? given.run.m : given.run.n;
  const std::size_t others = rows ? given.run.n : given.run.m;
  if (lines < 2 || lines > most_lines_moved || others < 3) return;
  std::vector<std::size_t> from = places_of_lines(given, rows);
  std::size_t moved = 0, found = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    if (from[i] == lines) {
      from[i] = i;
      continue;
    }
    ++found;
    if (from[i] != i) ++moved;
  }
  if (moved == 0 || 2 * found < lines) return;
  Change change{.words = moved_words(rows ? "row" : "column", from)};
  const KernelRun& run = given.run;
  const auto moved_line = [from](const auto& all, std::size_t width) {
    return [&all, from, width](std::size_t line, std::size_t at) {
      return all[from[line] * width + at];
    };
  };
  const auto moved_scale = [from](const std::vector<std::uint64_t>& all) {
    return [&all, from](std::size_t line) { return all[from[line]]; };
  };
  const std::size_t runs = run.runs.count(run.k);
  (rows ? change.a : change.b) = moved_line(rows ? run.a : run.b, run.k);
  const auto& of_runs = rows ? run.runs.a : run.runs.b;
  if (!of_runs.empty()) (rows ? change.a_runs : change.b_runs) = moved_line(of_runs, runs);
  const auto& scales = rows ? run.a_scale : run.b_scale;
  if (!scales.empty()) (rows ? change.a_scale : change.b_scale) = moved_scale(scales);
  out.push_back(std::move(change));
}

}  // namespace

std::vector<Change> moved_lines(const KernelCase& given) {
  std::vector<Change> out;
  if (given.run.dots) return out;
  add_moved(out, given, true);
  add_moved(out, given, false);
  return out;
}

}  // namespace binade
