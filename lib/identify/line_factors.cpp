// SPDX-License-Identifier: Apache-2.0
//
// Measures a factor of each line in numbers, then counts what factors near it make equal, each
// element a rounded product of the factor and a model's sum.
#include "lib/identify/line_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "emulate/arithmetic.h"
#include "emulate/project.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/identification.h"
#include "lib/identify/text.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// The lines of D, which are rows or columns.
struct LinesOfD {
  bool rows;
  std::size_t lines, others;

  LinesOfD(const KernelRun& run, bool are_rows)
      : rows(are_rows), lines(rows ? run.m : run.n), others(rows ? run.n : run.m) {}
  std::size_t place(std::size_t line, std::size_t other) const {
    return rows ? line * others + other : other * lines + line;
  }
};

/// Returns a factor of each line, or nothing if they have none or all the same one.
std::vector<double> factors_of(const LinesOfD& of, const NearSums& sums) {
  std::vector<double> factors(of.lines, 1);
  std::size_t measured = 0, different = 0;
  for (std::size_t line = 0; line < of.lines; ++line) {
    std::vector<double> ratios;
    for (std::size_t other = 0; other < of.others; ++other) {
      const std::size_t at = of.place(line, other);
      const double ratio = sums.found[at] / sums.exact[at];
      if (std::abs(sums.exact[at]) < sums.size[at] / 64 || !std::isfinite(ratio)) continue;
      ratios.push_back(ratio);
    }
    if (ratios.size() < 3) continue;
    std::ranges::sort(ratios);
    const double middle = ratios[ratios.size() / 2];
    const double spread = std::abs(ratios[3 * ratios.size() / 4] - ratios[ratios.size() / 4]);
    if (!(spread < std::abs(middle) / 64)) continue;
    ++measured;
    factors[line] = middle;
    different += std::abs(middle - factors[0]) > 4 * spread ? 1U : 0U;
  }
  if (10 * measured < 9 * of.lines || 4 * different < of.lines) return {};
  return factors;
}

std::uint64_t nearest_float(double x) {
  return convert(std::bit_cast<std::uint64_t>(x), binary64, binary32).bits;
}

/// Returns how many elements of a line are the product of its sums and one factor: a power of two,
/// or one within a few units in the last place of the measured one.
std::size_t equal_in_line(const LinesOfD& of, std::size_t line, double measured,
                          const std::vector<std::uint64_t>& sums,
                          const std::vector<std::uint64_t>& d, const Format& f) {
  const auto equal_by = [&](std::uint64_t factor) {
    std::size_t out = 0;
    for (std::size_t other = 0; other < of.others; ++other) {
      const std::size_t at = of.place(line, other);
      const Projected scaled = compute(Operation::multiply, {factor, sums[at]},
                                       {binary32, binary32}, binary32, Attributes{});
      out += convert(scaled.bits, binary32, f).bits == d[at] ? 1U : 0U;
    }
    return out;
  };
  const double power = std::exp2(std::round(std::log2(std::abs(measured))));
  std::size_t out = equal_by(nearest_float(std::copysign(power, measured)));
  const std::uint64_t near = nearest_float(measured);
  for (int step = -8; step <= 8 && out < of.others; ++step) {
    out = std::max(out, equal_by(near + static_cast<std::uint64_t>(step)));
  }
  return out;
}

}  // namespace

std::optional<KernelHypothesis> scaled_lines(const Identification& x, const KernelCase& given,
                                             const NearSums& sums, bool rows,
                                             const std::function<bool()>& in_time) {
  constexpr std::size_t most_cores = 20;
  const KernelRun& run = given.run;
  const Format& f = given.types.d;
  const LinesOfD of(run, rows);
  if (run.dots || is_integer(f) || !run.c.empty() || !run.bias.empty()) return std::nullopt;
  if (of.lines < 2 || of.others < 4 || x.candidates.empty()) return std::nullopt;
  const std::vector<double> factors = factors_of(of, sums);
  if (factors.empty()) return std::nullopt;
  const char* const noun = rows ? "row" : "column";
  KernelHypothesis out{fmt::format("each {} scaled by a factor of its own: {} 0 by about {:.6g}, "
                                   "{} 1 by about {:.6g}",
                                   noun, noun, factors[0], noun, factors[1]),
                       0, run.size()};
  std::vector<std::size_t> seen;
  for (const Candidate& candidate : x.candidates) {
    if (seen.size() == most_cores || out.equal == run.size() || !in_time()) break;
    const bool known = std::ranges::find(seen, candidate.core) != seen.end();
    if (known || candidate.model.sum.splits[0].parts > 1) continue;
    seen.push_back(candidate.core);
    GemmModel g = candidate.model;
    if (!fits_in(g.types.d, binary32)) continue;
    g.epilogue.out = binary32;
    const std::vector<std::uint64_t> of_model = gemm(g, operands_of(run));
    std::vector<std::size_t> equal(of.lines);
    parallel_for(of.lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t line = begin; line < end; ++line) {
        equal[line] = equal_in_line(of, line, factors[line], of_model, run.d, f);
      }
    });
    const std::size_t all = std::accumulate(equal.begin(), equal.end(), std::size_t{0});
    if (all <= out.equal) continue;
    out.equal = all;
    out.model = command_of(x.core(candidate), candidate.model);
  }
  return out;
}

}  // namespace binade
