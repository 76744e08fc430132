// SPDX-License-Identifier: Apache-2.0
//
// The core is found on a few rows and columns; all elements are counted by it.
#include "lib/identify/weighed_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "emulate/operation.h"
#include "emulate/project.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/identification.h"
#include "lib/identify/part_weights.h"
#include "lib/identify/text.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

/// The sum of the runs, in binary32; each is an array of D's size.
std::vector<std::uint64_t> weighed_sum(const std::vector<std::vector<std::uint64_t>>& runs,
                                       const std::vector<double>& factors, bool fused) {
  std::vector<std::uint64_t> out(runs[0].size());
  const OperandFormats formats{binary32, binary32, binary32};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::uint64_t factor =
        convert(std::bit_cast<std::uint64_t>(factors[run]), binary64, binary32).bits;
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::uint64_t sum = runs[run][at];
      if (fused) {
        out[at] = compute(Operation::multiply_add, {sum, factor, out[at]}, formats, binary32,
                          Attributes{})
                      .bits;
        continue;
      }
      const std::uint64_t product =
          compute(Operation::multiply, {sum, factor}, formats, binary32, Attributes{}).bits;
      out[at] = compute(Operation::add, {out[at], product}, formats, binary32, Attributes{}).bits;
    }
  }
  return out;
}

/// How many elements a core makes equal.
struct CountedGroups {
  std::size_t equal = 0;
  bool fused = false;
};

CountedGroups counted_groups(const KernelCase& x, const GroupFactors& groups, GemmModel model) {
  model.epilogue.out = binary32;
  std::vector<std::size_t> rows(x.run.m), columns(x.run.n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::vector<std::vector<std::uint64_t>> sums;
  for (std::size_t first = 0; first < x.run.k; first += groups.length) {
    Change run;
    for (std::size_t k = first; k < std::min(x.run.k, first + groups.length); ++k) {
      run.places.push_back(k);
    }
    sums.push_back(gemm(model, operands_of(part_of(x, run, rows, columns, false).run)));
  }
  CountedGroups out;
  for (const bool fused : {false, true}) {
    const std::vector<std::uint64_t> d = weighed_sum(sums, groups.factors, fused);
    std::size_t equal = 0;
    for (std::size_t at = 0; at < d.size(); ++at) {
      equal += convert(d[at], binary32, x.types.d).bits == x.run.d[at] ? 1U : 0U;
    }
    if (equal > out.equal) out = {equal, fused};
  }
  return out;
}

}  // namespace

std::optional<KernelHypothesis> weighed_groups(const Identification& x, const KernelCase& given,
                                               const std::function<bool()>& in_time) {
  constexpr std::size_t most_cores = 20, lines = 12;
  if (given.run.dots || is_integer(given.types.d)) return std::nullopt;
  const std::optional<GroupFactors> groups = group_factors(given);
  if (!groups) return std::nullopt;
  const KernelCase some = part_of(given, {}, spread_places(given.run.m, lines),
                                  spread_places(given.run.n, lines), false);
  std::vector<std::size_t> seen;
  const Candidate* best = nullptr;
  CountedGroups most;
  for (const Candidate& candidate : x.candidates) {
    if (seen.size() == most_cores || most.equal == some.run.size() || !in_time()) break;
    const GemmModel& g = candidate.model;
    const bool is_known = std::ranges::find(seen, candidate.core) != seen.end();
    if (is_known || g.sum.splits[0].parts > 1 || g.types.d != binary32) continue;
    seen.push_back(candidate.core);
    const CountedGroups counted = counted_groups(some, *groups, g);
    if (best != nullptr && counted.equal <= most.equal) continue;
    best = &candidate;
    most = counted;
  }
  if (best == nullptr || !in_time()) return std::nullopt;
  const CountedGroups all = counted_groups(given, *groups, best->model);
  std::string words = fmt::format("parts of {} k weighted, {}", groups->length, groups->words);
  if (all.fused) words += "; each added by a fused multiply-add";
  return KernelHypothesis{std::move(words), all.equal, given.run.size(),
                          command_of(x.core(*best), best->model)};
}

}  // namespace binade
