// SPDX-License-Identifier: Apache-2.0
//
// Measures a factor of each line in numbers, then counts what factors near it make equal, each
// element a rounded product of the factor and a model's sum.
#include "lib/identify/line_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "emulate/arithmetic.h"
#include "emulate/project.h"
#include "lib/gemm/files.h"
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

/// Returns a factor of each line by which these products give D, or nothing if they have none or
/// all the same one.
std::vector<double> factors_of(const LinesOfD& of, const NearSums& sums,
                               const std::vector<double>& products) {
  std::vector<double> factors(of.lines, 1);
  std::size_t measured = 0, different = 0;
  for (std::size_t line = 0; line < of.lines; ++line) {
    std::vector<double> ratios;
    for (std::size_t other = 0; other < of.others; ++other) {
      const std::size_t at = of.place(line, other);
      const double ratio = sums.found[at] / products[at];
      if (std::abs(products[at]) < sums.size[at] / 64 || !std::isfinite(ratio)) continue;
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

/// A model of one chain, k ascending, and the options that give it.
struct PlainModel {
  GemmModel model{};
  std::string command;
};

/// Returns one model of each core whose sums are numbers of binary32 or integers, the simplest
/// first.
std::vector<PlainModel> plain_models(const Identification& x) {
  std::vector<PlainModel> out;
  std::vector<bool> seen(x.cores.size());
  const auto add = [&](std::size_t core, const GemmModel& model) {
    if (seen[core] || !fits_in(model.types.d, is_integer(model.types.d) ? s32 : binary32)) return;
    seen[core] = true;
    const auto& rounded = x.searched.rounded;
    out.push_back({model, command_of(x.cores[core], model, rounded ? round_option(*rounded) : "")});
  };
  for (const Candidate& candidate : x.candidates) {
    if (candidate.model.sum.splits[0].parts == 1) add(candidate.core, candidate.model);
  }
  for (std::size_t core = 0; core < x.cores.size(); ++core) add(core, x.cores[core].plain);
  return out;
}

/// Returns a model's sums, those of integers converted.
std::vector<std::uint64_t> sums_in_f32(GemmModel model, const KernelRun& run) {
  const Format sum = model.types.d;
  model.epilogue = {};
  model.epilogue.out = is_integer(sum) ? sum : binary32;
  std::vector<std::uint64_t> out = gemm(model, operands_of(run));
  for (std::uint64_t& one : out) {
    if (is_integer(sum)) one = nearest_float(number_in(one, sum));
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
  if (of.lines < 2 || of.others < 4) return std::nullopt;
  const std::vector<double> measured = factors_of(of, sums, sums.exact);
  if (measured.empty()) return std::nullopt;
  const char* const noun = rows ? "row" : "column";
  const auto words = [noun](const std::vector<double>& by) {
    // The first ones that are not nearly 1, if there are two.
    std::array<std::size_t, 2> told{0, 1};
    std::size_t others = 0;
    for (std::size_t line = 0; line < by.size() && others < told.size(); ++line) {
      if (std::abs(by[line] - 1) > 0.01) told[others++] = line;
    }
    if (others < told.size()) told = {0, 1};
    return fmt::format(
        "each {0} scaled by a factor of its own: {0} {1} by about {2:.6g}, {0} {3} "
        "by about {4:.6g}",
        noun, told[0], by[told[0]], told[1], by[told[1]]);
  };
  KernelHypothesis out{words(measured), 0, run.size()};
  std::size_t tried = 0;
  for (const auto& [model, command] : plain_models(x)) {
    if (tried == most_cores || out.equal == run.size() || !in_time()) break;
    ++tried;
    const std::vector<std::uint64_t> of_model = sums_in_f32(model, run);
    std::vector<double> products;
    for (const std::uint64_t sum : of_model) products.push_back(number_in(sum, binary32));
    const std::vector<double> factors = factors_of(of, sums, products);
    if (factors.empty()) continue;
    std::vector<std::size_t> equal(of.lines);
    parallel_for(of.lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t line = begin; line < end; ++line) {
        equal[line] = equal_in_line(of, line, factors[line], of_model, run.d, f);
      }
    });
    const std::size_t all = std::accumulate(equal.begin(), equal.end(), std::size_t{0});
    if (all <= out.equal) continue;
    out.equal = all;
    out.words = words(factors);
    out.model = command;
  }
  return out;
}

}  // namespace binade
