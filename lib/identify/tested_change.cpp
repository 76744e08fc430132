// SPDX-License-Identifier: Apache-2.0
//
// Searches on some elements, then on some of those that the simplest model found gets wrong.
#include "lib/identify/tested_change.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "lib/gemm/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/detours.h"
#include "lib/identify/evaluator.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

constexpr std::size_t searched_dots = 160;  // elements by which the model under a mistake is found
constexpr std::size_t few_dots = 24, many_models = 1024;

/// Some of these elements, spread evenly.
std::vector<std::size_t> some_of(const std::vector<std::size_t>& from, std::size_t most) {
  std::vector<std::size_t> out;
  for (const std::size_t i : spread_places(from.size(), most)) out.push_back(from[i]);
  return out;
}

/// These elements of a case under a change, as dots.
KernelCase dots_under(const KernelCase& given, const Change& change,
                      const std::vector<std::size_t>& elements) {
  std::vector<std::size_t> rows, columns;
  for (const std::size_t at : elements) {
    rows.push_back(given.run.row(at));
    columns.push_back(given.run.column(at));
  }
  return part_of(given, change, rows, columns, true);
}

/// Models with all that they refer to.
struct Models {
  std::vector<Core> cores;
  std::vector<Candidate> candidates = {};
  bool are_distinct = false;
};

/// The candidates of an identification that differ in what they compute: where they are many, the
/// simplest and the nearest ones.
std::vector<Candidate> distinct_of(const Identification& x) {
  constexpr std::size_t most_simple = std::size_t{1} << 16, most_near = 1 << 12;
  std::vector<std::size_t> numbers;
  for (const Verdict& verdict : x.result.rejected) numbers.push_back(verdict.candidate);
  // The nearest stand first.
  const auto near =
      numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), most_near));
  std::sort(near, numbers.end());
  numbers.resize(std::min(numbers.size(), most_near + most_simple));
  std::ranges::sort(numbers);  // the simplest first
  std::vector<Candidate> out;
  for (const std::size_t i : numbers) out.push_back(x.candidates[i]);
  return out;
}

bool has_same_models(const Identification& x, const KernelCase& part) {
  const KernelRun& run = x.runs[0];
  const Epilogue& e = x.candidates[0].model.epilogue;
  return part.types == x.types && part.run.k == run.k && part.run.runs.length == run.runs.length &&
         part.run.c.empty() == run.c.empty() && part.run.bias.empty() == run.bias.empty() &&
         part.epilogue.alpha == e.alpha && part.epilogue.beta == e.beta;
}

/// Chains with accumulators that are unusual for their operands, and sums that are kept in a narrow
/// format after each product or each tile of K.
Models narrow_sums(const KernelCase& part, const KernelFacts& facts, const Searched& searched) {
  constexpr int products_kept[]{1, 2, 4, 8, 16, 32, 64, 128, 256};
  Models out{cores_for(part.types, searched)};
  const std::size_t usual = out.cores.size();
  add_unusual_chains(out.cores, part.types);
  for (const Candidate& x : candidates_for(out.cores, facts, {}, Orders::plain)) {
    if (x.core >= usual) {
      out.candidates.push_back(x);
      continue;
    }
    if (x.model.sum.c_first || x.model.types.d != binary32) continue;
    for (const Format& f : {bfloat16, binary16, tf32}) {
      for (const int tile : products_kept) {
        if (tile % x.model.k != 0 || tile >= static_cast<int>(part.run.k)) continue;
        // A promotion by scales takes products of one run.
        if (x.model.sum.scaling.share != 0 && x.model.sum.scaling.share % tile != 0) continue;
        Candidate kept = x;
        kept.model.sum.promotion = f;
        kept.model.sum.promote_every = tile / x.model.k;
        kept.departures += 1;
        out.candidates.push_back(kept);
      }
    }
  }
  std::ranges::stable_sort(out.candidates, {}, &Candidate::departures);
  return out;
}

Models models_for(const Identification& x, const KernelCase& part, TestedModels which) {
  if (which == TestedModels::usual && !x.candidates.empty() && has_same_models(x, part)) {
    return {x.cores, distinct_of(x), true};
  }
  const std::vector<KernelRun> runs{part.run};
  const KernelFacts facts = facts_of(part.types, runs, part.epilogue);
  if (which == TestedModels::narrow_sums) return narrow_sums(part, facts, x.searched);
  Models out{cores_for(part.types, x.searched)};
  out.candidates = which == TestedModels::usual ? candidates_for(out.cores, facts)
                                                : promising_candidates(out.cores, facts, runs);
  return out;
}

/// Returns the candidate of each core that a search found to be the nearest, the nearest first.
std::vector<Candidate> nearest_of_cores(const std::vector<Candidate>& candidates,
                                        const SearchResult& found) {
  std::vector<Candidate> out;
  for (const Verdict& verdict : found.rejected) {
    const Candidate& x = candidates[verdict.candidate];
    const bool known =
        std::ranges::any_of(out, [&](const Candidate& other) { return other.core == x.core; });
    if (!known) out.push_back(x);
  }
  return out;
}

}  // namespace

TestedChange counted_by(const KernelCase& given, const Change& change, const Core& core,
                        const GemmModel& model) {
  TestedChange out{core, model, {}, {}, 0};
  const KernelCase whole = changed(given, change);
  if (whole.run.dots) {
    const std::vector<Core> cores{core};
    const Candidate candidate{model, 0, 0};
    const std::vector<KernelRun> runs{whole.run};
    const Evaluator evaluator(cores, runs);
    const Candidate* const one[]{&candidate};
    std::vector<std::size_t> all(whole.run.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    out.d.resize(all.size());
    evaluator.evaluate(one, 0, all,
                       [&](std::size_t, std::size_t first, std::span<const std::uint64_t> d) {
                         std::ranges::copy(d, out.d.begin() + static_cast<std::ptrdiff_t>(first));
                       });
  } else {
    out.d = gemm(model, operands_of(whole.run));
  }
  out.right.resize(out.d.size());
  for (std::size_t at = 0; at < out.d.size(); ++at) {
    out.right[at] =
        is_same_result(out.d[at], whole.run.d[at], model.epilogue.out, any_nan_fits(model));
    out.equal += out.right[at] ? 1U : 0U;
  }
  return out;
}

TestedChange tested(const Identification& x, const KernelCase& given, const Change& change,
                    const std::vector<std::size_t>& eligible, TestedModels which) {
  constexpr int most_rounds = 4;
  std::vector<std::size_t> some = some_of(eligible, searched_dots);
  KernelCase part = dots_under(given, change, some);
  auto [cores, left, are_distinct] = models_for(x, part, which);
  // Single dots with scales of blocks are slow.
  if (part.run.runs.any() && left.size() > many_models) {
    some = some_of(eligible, few_dots);
    part = dots_under(given, change, some);
  }
  std::vector<bool> is_known(given.run.size());
  TestedChange out;
  for (int round = 0; round < most_rounds && !left.empty() && !some.empty(); ++round) {
    const SearchResult found = search(cores, left, std::vector<KernelRun>{part.run},
                                      {.nearest = 1, .distinct = are_distinct});
    are_distinct = true;
    const bool is_found = !found.explaining.empty();
    const Candidate best = left[(is_found ? found.explaining : found.rejected)[0].candidate];
    TestedChange counted = counted_by(given, change, cores[best.core], best.model);
    if (round == 0 || counted.equal > out.equal) out = std::move(counted);
    if (out.equal == given.run.size()) break;
    std::vector<Candidate> next;
    if (is_found) {
      for (const Verdict& verdict : found.explaining) next.push_back(left[verdict.candidate]);
    } else if (round == 0 && 2 * out.equal > eligible.size()) {
      next = nearest_of_cores(left, found);
    }
    if (next.size() < 2) break;
    // Those that are left are held to some of the elements that the simplest gets wrong, and, where
    // none is right everywhere, to as many others.
    for (const std::size_t at : some) is_known[at] = is_found;
    std::vector<std::size_t> wrong;
    for (const std::size_t at : eligible) {
      if (!out.right[at] && !is_known[at]) wrong.push_back(at);
    }
    some = some_of(wrong, searched_dots);
    if (!is_found) {
      for (const std::size_t at : some_of(eligible, some.size())) some.push_back(at);
    }
    part = dots_under(given, change, some);
    left = std::move(next);
  }
  return out;
}

}  // namespace binade
