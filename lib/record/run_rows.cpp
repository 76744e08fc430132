// SPDX-License-Identifier: Apache-2.0
//
// Chains run side by side, a step of all of them at a time.
#include "lib/record/run_rows.h"

#include <algorithm>
#include <vector>

namespace binade {
namespace {

/// Rows of each step: the first rows of all chains, their second ones, …
std::vector<std::vector<std::size_t>> steps_of(const DotGenerator& generator, std::size_t rows) {
  std::vector<std::vector<std::size_t>> out;
  std::size_t step = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    step = continues_chain(generator, i) ? step + 1 : 0;
    if (step == out.size()) out.emplace_back();
    out[step].push_back(i);
  }
  return out;
}

Dots rows_at(const Dots& dots, const std::vector<std::size_t>& rows, std::size_t k) {
  Dots out;
  for (const std::size_t i : rows) {
    const auto begin = static_cast<std::ptrdiff_t>(i * k);
    const auto end = static_cast<std::ptrdiff_t>((i + 1) * k);
    out.a.insert(out.a.end(), dots.a.begin() + begin, dots.a.begin() + end);
    out.b.insert(out.b.end(), dots.b.begin() + begin, dots.b.begin() + end);
    out.c.push_back(dots.c[i]);
  }
  out.d.resize(rows.size());
  return out;
}

}  // namespace

CannotRun run_rows(Device& device, const DotGenerator& generator, const Instruction& instruction,
                   Dots& dots) {
  if (!generator.chained) return device.run_dots(instruction, dots);
  for (const std::vector<std::size_t>& rows : steps_of(generator, dots.c.size())) {
    for (const std::size_t i : rows) {
      if (continues_chain(generator, i)) dots.c[i] = dots.d[i - 1];
    }
    Dots step = rows_at(dots, rows, static_cast<std::size_t>(instruction.k));
    if (const CannotRun why = device.run_dots(instruction, step)) return why;
    for (std::size_t i = 0; i < rows.size(); ++i) dots.d[rows[i]] = step.d[i];
  }
  return std::nullopt;
}

}  // namespace binade
