// SPDX-License-Identifier: Apache-2.0
//
// A greedy cover of the elements by models that were followed to the end.
#include "lib/identify/together.h"

#include <algorithm>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_parts = 4;
/// A wrong model of binary32 gives the right bits for a third of the elements at best: four wrong ones
/// cover 200 elements with a chance below 2^-60.
constexpr std::size_t least_elements = 200;

using Mask = std::vector<bool>;

std::vector<Mask> masks_of(const Identification& x, const std::vector<std::size_t>& candidates) {
  const KernelRun& run = x.runs[0];
  const Evaluator evaluator(x.cores, x.runs);
  std::vector<Mask> out(candidates.size(), Mask(run.size()));
  parallel_for(candidates.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const Candidate& candidate = x.candidates[candidates[i]];
      const GemmModel& g = candidate.model;
      Prepared prepared = evaluator.prepare(g, candidate.core, 0);
      for (std::size_t at = 0; at < run.size(); ++at) {
        out[i][at] =
            is_same_result(prepared.element(at), run.d[at], g.epilogue.out, any_nan_fits(g));
      }
    }
  });
  return out;
}

/// The places of masks that cover everything; empty where few do not.
std::vector<std::size_t> cover(const std::vector<Mask>& masks) {
  std::vector<std::size_t> out;
  Mask covered(masks.empty() ? 0 : masks[0].size());
  const auto gain = [&](const Mask& mask) {
    std::size_t n = 0;
    for (std::size_t at = 0; at < mask.size(); ++at) n += mask[at] && !covered[at] ? 1 : 0;
    return n;
  };
  while (out.size() < most_parts && std::ranges::count(covered, false) > 0) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const std::size_t n = gain(masks[i]);
      if (n <= most) continue;
      best = i;
      most = n;
    }
    if (most == 0) return {};
    for (std::size_t at = 0; at < covered.size(); ++at)
      covered[at] = covered[at] || masks[best][at];
    out.push_back(best);
  }
  return std::ranges::count(covered, false) == 0 ? out : std::vector<std::size_t>{};
}

/// What a part alone explains.
void measure(TogetherPart& part, const KernelRun& run, const std::vector<Mask>& masks,
             const std::vector<std::size_t>& chosen, std::size_t mine) {
  part.first_row = run.m;
  part.first_column = run.n;
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (!masks[mine][at]) continue;
    part.equal += 1;
    const bool shared = std::ranges::any_of(
        chosen, [&](std::size_t other) { return other != mine && masks[other][at]; });
    if (shared) continue;
    part.alone += 1;
    part.first_row = std::min(part.first_row, run.row(at));
    part.last_row = std::max(part.last_row, run.row(at));
    part.first_column = std::min(part.first_column, run.column(at));
    part.last_column = std::max(part.last_column, run.column(at));
  }
}

}  // namespace

std::vector<TogetherPart> together(const Identification& x) {
  const SearchResult& r = x.result;
  const bool fits = x.runs.size() == 1 && !x.runs[0].dots && r.elements >= least_elements;
  if (!fits || !r.explaining.empty()) return {};
  std::vector<std::size_t> candidates;
  for (const Verdict& verdict : r.rejected) {
    if (verdict.compared == r.elements) candidates.push_back(verdict.candidate);
  }
  const std::vector<Mask> masks = masks_of(x, candidates);
  const std::vector<std::size_t> chosen = cover(masks);
  std::vector<TogetherPart> out;
  for (const std::size_t i : chosen) {
    TogetherPart part{.candidate = candidates[i]};
    measure(part, x.runs[0], masks, chosen, i);
    if (part.alone > 0) out.push_back(part);
  }
  return out;
}

}  // namespace binade
