// SPDX-License-Identifier: Apache-2.0
//
// The tile before becomes C.
#include "lib/identify/uncleared.h"

#include <fmt/format.h>

#include <algorithm>

namespace binade {

std::vector<Change> uncleared(const KernelCase& given, std::span<const std::size_t> elements) {
  const KernelRun& run = given.run;
  std::vector<Change> out;
  if (run.dots || !run.c.empty() || elements.empty()) return out;
  std::size_t top = run.m, bottom = 0, left = run.n, right = 0;
  for (const std::size_t at : elements) {
    top = std::min(top, run.row(at));
    bottom = std::max(bottom, run.row(at));
    left = std::min(left, run.column(at));
    right = std::max(right, run.column(at));
  }
  const std::size_t rows = bottom - top + 1, columns = right - left + 1;
  if (5 * elements.size() < 4 * rows * columns) return out;
  const auto add = [&](const char* noun, std::size_t lines, std::size_t back) {
    out.push_back({.words = fmt::format("the sum begins with the element of D {} {} before, as if "
                                        "an accumulator were not cleared",
                                        lines, noun)});
    out.back().c = [&run, back](std::size_t at) { return at < back ? 0 : run.d[at - back]; };
    out.back().as_c = given.types.d;
  };
  if (left >= columns) add("columns", columns, columns);
  if (top >= rows) add("rows", rows, rows * run.n);
  return out;
}

}  // namespace binade
