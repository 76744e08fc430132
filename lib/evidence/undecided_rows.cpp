// SPDX-License-Identifier: Apache-2.0
//
// Makes a pool of the rows of every generator, and chooses among them.
#include "lib/evidence/undecided_rows.h"

#include <algorithm>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/evidence/distinguishing_rows.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// How many of each generator's first rows are in the pool: so many that every rival of every
/// instruction gives another result on some of them (a test checks this). The generator "tiny"
/// begins with its ladder, which has 64 rows for each rung.
struct PoolRows {
  std::string_view generator;
  std::uint64_t rows;
};
constexpr PoolRows pool_rows[]{
    {"normal", 128},         {"bounded_exponents", 384}, {"tiny", 2560},         {"zeros", 512},
    {"zero_products", 2048}, {"specials", 512},          {"carry", 256},         {"k_order", 256},
    {"random_bits", 512},    {"integers", 4096},         {"block_scales", 2560},
};

/// The choice is made twice, so that no aspect depends on a single row.
constexpr int passes = 2;

Dots pool_of(const Instruction& x, std::uint64_t seed) {
  Dots out;
  for (const PoolRows& row : pool_rows) {
    const DotGenerator& generator = parse_dot_generator(row.generator);
    if (!generator.suits(x)) continue;
    append(out, make_dots(generator, x, seed, 0, row.rows));
  }
  return out;
}

}  // namespace

UndecidedRows undecided_rows(const Instruction& x, std::uint64_t seed) {
  std::vector<Rival> rivals;
  for (const OpenAspect& open : open_aspects(x)) {
    rivals.insert(rivals.end(), open.rivals.begin(), open.rivals.end());
  }
  if (rivals.empty()) return {};
  const Dots pool = pool_of(x, seed);
  const std::size_t rows = pool.c.size();
  std::vector<std::vector<std::uint64_t>> results(rivals.size() + 1,
                                                  std::vector<std::uint64_t>(rows));
  parallel_for(rows, 32, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const RowOperands operands = operands_of_row(pool, i);
      const SeenRow row = seen_row(x, operands);
      results[0][i] = row.d;
      for (std::size_t n = 0; n < rivals.size(); ++n) results[n + 1][i] = rivals[n].result(row);
    }
  });
  const ResultsOf result = [&results](std::size_t model, std::size_t row) {
    return std::span(results[model]).subspan(row, 1);
  };
  std::vector<std::size_t> chosen;
  std::vector<bool> taken(rows);
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<std::size_t> groups(results.size());
    for (const std::size_t row : choose_distinguishing_rows(
             rows, most_undecided_rows - chosen.size(), taken, result, groups)) {
      chosen.push_back(row);
      taken[row] = true;
    }
  }
  UndecidedRows out{chosen_rows(pool, chosen), {}};
  for (std::size_t n = 0; n < rivals.size(); ++n) {
    if (results[n + 1] == results[0]) out.unsettled.push_back(rivals[n].name);
  }
  return out;
}

}  // namespace binade
