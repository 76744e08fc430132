// SPDX-License-Identifier: Apache-2.0
//
// Makes pools of the rows of all generators, and runs tiles of a few seconds at a time.
#include "lib/validate/crossed.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "lib/device/record_dots.h"
#include "lib/device/row_plan.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Rows of each generator in the pool; the structured generators do not repeat themselves so early.
constexpr std::uint64_t rows_of_each = 512;

RowPlan pool_plan(const Instruction& x) {
  RowPlan out;
  for (const DotGenerator& generator : dot_generators()) {
    if (generator.suits(x)) out.push_back({&generator, rows_of_each});
  }
  return out;
}

/// Returns the tiles to compare. All columns of a wgmma are computed alike, so the narrowest wgmma
/// stands for all.
Crossing crossing_of(const Instruction& x, std::uint32_t rows, std::uint64_t seed) {
  const bool wide = x.family == Family::wgmma || x.family == Family::wgmma_sp;
  return {.seed = seed, .rows = rows, .m = x.m, .n = wide ? 8 : x.n};
}

/// Returns the row that these rows of a pool make.
Dots row_of(const Dots& pool, const CrossedRows& rows) {
  const std::array<std::size_t, 3> numbers{rows.a, rows.b, rows.c};
  Dots out = chosen_rows(pool, std::span(numbers).first(1));
  const Dots of_b = chosen_rows(pool, std::span(numbers).subspan(1, 1));
  out.b = of_b.b;
  out.b_scales = of_b.b_scales;
  out.c = {pool.c[rows.c]};
  out.d = {0};
  return out;
}

CrossedDifference difference_at(Device& device, const Instruction& x, const Dots& pool,
                                const Crossing& crossing, std::uint64_t dot_number) {
  const auto tile_dots =
      static_cast<std::uint64_t>(crossing.m) * static_cast<std::uint64_t>(crossing.n);
  const std::uint64_t tile = dot_number / tile_dots;
  const auto within = static_cast<int>(dot_number % tile_dots);
  CrossedDifference out;
  out.rows = crossed_rows(crossing, start_of_tile(crossing, tile), within / crossing.n,
                          within % crossing.n);
  out.row = row_of(pool, out.rows);
  if (const CannotRun why = device.run_dots(x, out.row)) throw Error(*why);
  out.emulated = dot_of_row(x, operands_of_row(out.row, 0));
  return out;
}

CrossedCheck check_one(Device& device, const Instruction& x, std::uint64_t dots,
                       std::uint64_t seed) {
  CrossedCheck out{x};
  const Dots pool = make_rows(pool_plan(x), x, seed);
  Crossing crossing = crossing_of(x, static_cast<std::uint32_t>(pool.c.size()), seed);
  const auto tile_dots =
      static_cast<std::uint64_t>(crossing.m) * static_cast<std::uint64_t>(crossing.n);
  crossing.tiles = std::max<std::uint64_t>(1, (dots + tile_dots - 1) / tile_dots);
  if (const CannotRun why = device.tally_crossed(x, pool, crossing, out.tally)) {
    out.skipped = *why;
    return out;
  }
  if (out.tally.dots != crossing.tiles * tile_dots) {
    throw Error(instruction_name(x) + ": " + std::to_string(out.tally.dots) +
                " dots were compared, " + std::to_string(crossing.tiles * tile_dots) +
                " asked for; report this as a bug");
  }
  if (out.tally.different != 0) {
    out.first = difference_at(device, x, pool, crossing, out.tally.lowest);
  }
  return out;
}

}  // namespace

CrossTally check_crossed(Device& device, const CrossedWhat& what, const CrossedSink& sink) {
  const int sm = parse_architecture(std::to_string(device.info().compute_capability));
  std::vector<Instruction> chosen = instruction_forms(sm);
  std::erase_if(chosen, [&](const Instruction& x) {
    return instruction_name(x).find(what.words) == std::string::npos;
  });
  if (chosen.empty())
    throw Error("no instruction of sm_" + std::to_string(sm) + " has '" + printable(what.words) +
                "' in its name; see binade architectures");
  CrossTally total;
  for (const Instruction& x : chosen) {
    const CrossedCheck check = check_one(device, x, what.dots / chosen.size() + 1, what.seed);
    total.dots += check.tally.dots;
    total.different += check.tally.different;
    sink(check);
  }
  return total;
}

}  // namespace binade
