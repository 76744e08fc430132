// SPDX-License-Identifier: Apache-2.0
//
// Searches again on what the nearest model leaves unexplained.
#include "lib/identify/together.h"

#include <algorithm>

#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"

namespace binade {
namespace {

constexpr std::size_t most_parts = 4;
constexpr std::size_t most_searched = 512;
/// If models that are independently right now and then would leave this many elements uncovered on
/// average, then the probability that they leave none is at most e^-20.
constexpr double least_uncovered = 20;

using Mask = std::vector<bool>;

/// Returns which elements a candidate explains.
Mask mask_of(const Identification& x, std::size_t candidate) {
  const KernelRun& run = x.runs[0];
  const GemmModel& g = x.candidates[candidate].model;
  const std::vector<std::uint64_t> d = gemm(g, operands_of(run));
  Mask right(run.size());
  for (std::size_t at = 0; at < run.size(); ++at) {
    right[at] = is_same_result(d[at], run.d[at], g.epilogue.out, any_nan_fits(g));
  }
  return right;
}

/// Returns the elements that are not covered, as dot products; at most most_searched of them, which
/// are enough to search by.
KernelRun rest_of(const KernelRun& run, const Mask& covered) {
  KernelRun out{0, 0, run.k, true, {}, {}, {}, {}, {}};
  for (std::size_t at = 0; at < run.size() && out.m < most_searched; ++at) {
    if (covered[at]) continue;
    const GemmElement<std::uint64_t> x = run.element(at);
    out.a.insert(out.a.end(), x.a, x.a + run.k);
    out.b.insert(out.b.end(), x.b, x.b + run.k);
    if (x.has_c) out.c.push_back(x.c);
    if (x.has_bias) out.bias.push_back(x.bias);
    out.d.push_back(run.d[at]);
    out.n = ++out.m;
  }
  return out;
}

struct Cover {
  std::vector<std::size_t> candidates;
  std::vector<Mask> masks;
};

/// Takes the nearest model, then again and again the one that explains most of the rest. Returns
/// nothing if most_parts models do not cover every element.
Cover cover(const Identification& x) {
  const KernelRun& run = x.runs[0];
  Cover out;
  Mask covered(run.size());
  std::size_t next = x.result.rejected[0].candidate;
  while (out.masks.size() < most_parts) {
    const auto before = std::ranges::count(covered, true);
    out.candidates.push_back(next);
    out.masks.push_back(mask_of(x, next));
    for (std::size_t at = 0; at < covered.size(); ++at) {
      covered[at] = covered[at] || out.masks.back()[at];
    }
    if (std::ranges::count(covered, false) == 0) return out;
    if (std::ranges::count(covered, true) == before) break;
    const std::vector<KernelRun> rest{rest_of(run, covered)};
    const SearchResult found = search(x.cores, x.candidates, rest, {.nearest = 1});
    next = (found.explaining.empty() ? found.rejected : found.explaining)[0].candidate;
  }
  return {};
}

/// Returns how many elements models that are right as often as these would leave uncovered by
/// chance.
double uncovered_by_chance(const std::vector<Mask>& masks) {
  const auto n = static_cast<double>(masks[0].size());
  double out = n;
  for (const Mask& mask : masks) out *= static_cast<double>(std::ranges::count(mask, false)) / n;
  return out;
}

/// Returns what a part explains, and what no other part explains.
TogetherPart measured(const KernelRun& run, const Cover& cover, std::size_t mine) {
  TogetherPart part{.candidate = cover.candidates[mine], .first_row = run.m, .first_column = run.n};
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (!cover.masks[mine][at]) continue;
    part.equal += 1;
    std::size_t explaining = 0;
    for (const Mask& mask : cover.masks) explaining += mask[at] ? 1 : 0;
    if (explaining > 1) continue;
    part.alone += 1;
    part.first_row = std::min(part.first_row, run.row(at));
    part.last_row = std::max(part.last_row, run.row(at));
    part.first_column = std::min(part.first_column, run.column(at));
    part.last_column = std::max(part.last_column, run.column(at));
  }
  return part;
}

}  // namespace

std::vector<TogetherPart> together(const Identification& x) {
  const SearchResult& r = x.result;
  if (!x.in_time || !r.open.empty()) return {};
  if (x.runs.size() != 1 || x.runs[0].dots || !r.explaining.empty() || r.rejected.empty())
    return {};
  const Cover found = cover(x);
  if (found.masks.empty() || uncovered_by_chance(found.masks) < least_uncovered) return {};
  std::vector<TogetherPart> out;
  for (std::size_t i = 0; i < found.masks.size(); ++i) {
    const TogetherPart part = measured(x.runs[0], found, i);
    if (part.alone > 0) out.push_back(part);
  }
  return out;
}

}  // namespace binade
