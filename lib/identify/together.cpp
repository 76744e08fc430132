// SPDX-License-Identifier: Apache-2.0
//
// Searches again on what the nearest model leaves unexplained; or tries the sums of a ring, which
// begin with another part in each chunk of D.
#include "lib/identify/together.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"

namespace binade {
namespace {

constexpr std::size_t most_parts = 4;
constexpr std::size_t most_searched = 512;
/// Of so many of the nearest models the rotations are tried.
constexpr std::size_t most_rings = 24;
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
  const std::vector<Candidate> usual(x.candidates.begin(),
                                     x.candidates.begin() + static_cast<std::ptrdiff_t>(x.usual));
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
    const SearchResult found = search(x.cores, usual, rest, {.nearest = 1});
    next = (found.explaining.empty() ? found.rejected : found.explaining)[0].candidate;
  }
  return {};
}

/// Returns the candidates that differ from one in nothing but the part with which its sum begins.
std::vector<std::size_t> rotations_of(const Identification& x, const Candidate& of) {
  std::vector<std::size_t> out;
  GemmModel wanted = of.model;
  wanted.sum.splits[0].first = 0;
  for (std::size_t i = 0; i < x.candidates.size(); ++i) {
    const Split& split = x.candidates[i].model.sum.splits[0];
    if (x.candidates[i].core != of.core || split.parts != wanted.sum.splits[0].parts) continue;
    GemmModel other = x.candidates[i].model;
    other.sum.splits[0].first = 0;
    if (other == wanted) out.push_back(i);
  }
  return out;
}

/// Returns whether each of some elements, spread over D, is right in one of the candidates.
bool cover_some(const Identification& x, const std::vector<std::size_t>& candidates) {
  const KernelRun& run = x.runs[0];
  const std::size_t step = run.size() / most_searched + 1;
  for (std::size_t at = 0; at < run.size(); at += step) {
    const GemmElement<std::uint64_t> element = run.element(at);
    const bool right = std::ranges::any_of(candidates, [&](std::size_t i) {
      const GemmModel& g = x.candidates[i].model;
      return is_same_result(gemm_element(g, element), run.d[at], g.epilogue.out, any_nan_fits(g));
    });
    if (!right) return false;
  }
  return true;
}

/// Returns the rotations of one of the nearest models between which every element is right, or
/// nothing.
Cover ring(const Identification& x) {
  for (std::size_t i = 0; i < std::min(most_rings, x.result.rejected.size()); ++i) {
    const Candidate& near = x.candidate(x.result.rejected[i]);
    const Split& split = near.model.sum.splits[0];
    if (split.parts < 3 || !in_turn(split.reduction)) continue;
    const std::vector<std::size_t> rotations = rotations_of(x, near);
    if (rotations.size() < 3 || !cover_some(x, rotations)) continue;
    Cover out{rotations, {}};
    Mask covered(x.runs[0].size());
    for (const std::size_t rotation : rotations) {
      out.masks.push_back(mask_of(x, rotation));
      for (std::size_t at = 0; at < covered.size(); ++at) {
        covered[at] = covered[at] || out.masks.back()[at];
      }
    }
    if (std::ranges::count(covered, false) == 0) return out;
  }
  return {};
}

/// Returns whether each row is right in one of the models as a whole, where by chance none would
/// be.
bool has_whole_rows(const KernelRun& run, const std::vector<Mask>& masks) {
  double share = 0;
  for (const Mask& mask : masks) {
    share = std::max(share, static_cast<double>(std::ranges::count(mask, true)) /
                                static_cast<double>(mask.size()));
  }
  const double of_row =
      static_cast<double>(run.n) * -std::log(share) - std::log(static_cast<double>(masks.size()));
  if (of_row <= 0 || of_row * static_cast<double>(run.m) < least_uncovered) return false;
  for (std::size_t row = 0; row < run.m; ++row) {
    const bool whole = std::ranges::any_of(masks, [&](const Mask& mask) {
      const auto first = mask.begin() + static_cast<std::ptrdiff_t>(row * run.n);
      return std::all_of(first, first + static_cast<std::ptrdiff_t>(run.n), std::identity());
    });
    if (!whole) return false;
  }
  return true;
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
  if (x.runs.size() != 1 || x.runs[0].dots || !r.explaining.empty() || r.rejected.empty())
    return {};
  Cover found = ring(x);
  const bool is_ring = !found.masks.empty() && has_whole_rows(x.runs[0], found.masks);
  if (!is_ring) {
    found = cover(x);
    if (found.masks.empty() || uncovered_by_chance(found.masks) < least_uncovered) return {};
  }
  std::vector<TogetherPart> out;
  for (std::size_t i = 0; i < found.masks.size(); ++i) {
    const TogetherPart part = measured(x.runs[0], found, i);
    if (part.alone > 0) out.push_back(part);
  }
  if (is_ring) std::ranges::stable_sort(out, {}, &TogetherPart::first_row);
  return out;
}

}  // namespace binade
