// SPDX-License-Identifier: Apache-2.0
//
// Chooses detours by a sample, searches all orders with these, and merges what came out.
#include "lib/identify/detours.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "lib/gemm/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/identification.h"
#include "lib/identify/match.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_of_run = 256;  // elements of a run that choose detours
/// Detours that are tried in all orders: at most so many, equal to at most one in so many elements
/// less than the nearest one.
constexpr std::size_t most_detours = 3, near_share = 16;

/// Returns some elements of a run, spread over D, and these, as dot products.
KernelRun sample_of(const KernelRun& run, const std::vector<std::size_t>& also) {
  std::vector<std::size_t> elements = spread_places(run.size(), most_of_run);
  elements.insert(elements.end(), also.begin(), also.end());
  return dots_of(run, elements);
}

/// Returns some elements that the nearest model, and the nearest one of a plain order, get wrong,
/// if they get most right: few elements are ties, and a sample may have none.
std::vector<std::size_t> wrong_by_nearest(const Identification& x) {
  constexpr std::size_t most = 32;
  if (x.runs.size() != 1 || x.result.rejected.empty() || x.runs[0].dots) return {};
  const KernelRun& run = x.runs[0];
  std::vector<std::size_t> out;
  const auto add = [&](const Verdict& nearest) {
    const GemmModel& g = x.candidate(nearest).model;
    if (8 * nearest.equal < 7 * nearest.compared || is_smooth(g.epilogue.activation)) return;
    const std::vector<std::uint64_t> d = gemm(g, operands_of(run));
    std::vector<std::size_t> wrong;
    for (std::size_t at = 0; at < d.size(); ++at) {
      if (!is_same_result(d[at], run.d[at], g.epilogue.out, any_nan_fits(g))) wrong.push_back(at);
    }
    for (const std::size_t i : spread_places(wrong.size(), most)) out.push_back(wrong[i]);
  };
  const std::vector<Verdict>& rejected = x.result.rejected;
  add(rejected[0]);
  const auto plain = std::ranges::find_if(rejected, [&](const Verdict& one) {
    const Accumulation& sum = x.candidate(one).model.sum;
    return sum.splits[0].parts == 1 && sum.promote_every == 0 && sum.order == KOrder{};
  });
  if (plain != rejected.end() && plain != rejected.begin()) add(*plain);
  return out;
}

/// Returns to how many elements of the samples each candidate is equal.
std::vector<std::size_t> scores_of(const std::vector<Core>& cores,
                                   const std::vector<Candidate>& tried,
                                   std::span<const KernelRun> samples) {
  const Evaluator evaluator(cores, samples);
  std::vector<std::vector<std::size_t>> of_cores(cores.size());
  for (std::size_t i = 0; i < tried.size(); ++i) of_cores[tried[i].core].push_back(i);
  std::vector<std::size_t> scores(tried.size());
  parallel_for(cores.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t core = begin; core < end; ++core) {
      Evaluated evaluated;
      for (const std::size_t i : of_cores[core]) evaluated.add(tried[i]);
      const std::vector<const Candidate*>& models = evaluated.models;
      for (std::size_t run = 0; run < samples.size() && !models.empty(); ++run) {
        std::vector<std::size_t> elements(samples[run].size());
        std::iota(elements.begin(), elements.end(), std::size_t{0});
        const auto count = [&](std::size_t i, std::size_t first, std::span<const std::uint64_t> d) {
          const GemmModel& g = tried[of_cores[core][i]].model;
          for (std::size_t n = 0; n < d.size(); ++n) {
            const Match match = match_of(g, d[n], samples[run].d[first + n]);
            scores[of_cores[core][i]] += match == Match::different ? 0 : 1;
          }
        };
        evaluator.evaluate(models, run, elements, count);
      }
    }
  });
  return scores;
}

/// A detour, and the elements of the samples to which the nearest of its models is equal.
struct ScoredDetour {
  Epilogue detour{};
  std::size_t score = 0;
};

/// Whether a score of `all` beats that of the plain models by more than another order would, and is
/// that of a detour that hides orders.
bool is_more_than_chance(std::size_t plain, std::size_t score, std::size_t all) {
  if (score <= plain || 2 * score <= all) return false;
  const std::size_t gained = score - plain;
  return score == all || gained * gained >= 2 * (all - plain);
}

int parts_of(const Epilogue& detour) {
  const int rounding = detour.rounding == Rounding::ties_to_even ? 0 : 1;
  return rounding + (detour.sum ? 1 : 0) + (detour.through ? 1 : 0) +
         (detour.activation == Activation::none ? 0 : 1);
}

/// Returns the detours whose models, in plain order, come nearest to the samples of D: nearer than
/// every model without a detour, by more than chance. The simplest come first.
std::vector<Epilogue> promising(const std::vector<Core>& cores, const KernelFacts& facts,
                                std::span<const KernelRun> runs,
                                const std::vector<std::size_t>& also) {
  std::vector<Epilogue> detours{{}};
  std::ranges::copy(detours_for(facts), std::back_inserter(detours));
  std::vector<Candidate> tried;
  std::vector<std::size_t> detour_of;
  for (std::size_t i = 0; i < detours.size(); ++i) {
    const auto more = candidates_for(cores, facts, detours[i], Orders::plain);
    tried.insert(tried.end(), more.begin(), more.end());
    detour_of.resize(tried.size(), i);
  }
  std::vector<KernelRun> samples;
  for (const KernelRun& run : runs) samples.push_back(sample_of(run, also));
  const std::vector<std::size_t> scores = scores_of(cores, tried, samples);
  std::vector<ScoredDetour> scored;
  for (const Epilogue& detour : detours) scored.push_back({detour});
  for (std::size_t i = 0; i < tried.size(); ++i) {
    std::size_t& score = scored[detour_of[i]].score;
    score = std::max(score, scores[i]);
  }
  std::size_t all = 0, best = 0;
  for (const KernelRun& run : samples) all += run.size();
  for (const ScoredDetour& one : scored) best = std::max(best, one.score);
  const std::size_t plain = scored[0].score;
  std::erase_if(scored, [&](const ScoredDetour& one) {
    return !is_more_than_chance(plain, one.score, all) || one.score + all / near_share < best;
  });
  std::ranges::stable_sort(scored, [](const ScoredDetour& one, const ScoredDetour& other) {
    const int parts = parts_of(one.detour), of_other = parts_of(other.detour);
    return parts != of_other ? parts < of_other : one.score > other.score;
  });
  std::vector<Epilogue> out;
  for (std::size_t i = 0; i < std::min(most_detours, scored.size()); ++i) {
    out.push_back(scored[i].detour);
  }
  return out;
}

/// Makes the candidates of what was found those from number `first` on.
void renumber(SearchResult& found, std::size_t first) {
  for (auto* const list : {&found.explaining, &found.rejected, &found.open}) {
    for (Verdict& x : *list) {
      x.candidate += first;
      for (std::size_t& same : x.same) same += first;
    }
  }
}

}  // namespace

bool has_below(double bound, const Format& d, std::span<const KernelRun> runs) {
  if (is_integer(d)) return true;
  return std::ranges::any_of(runs, [&](const KernelRun& run) {
    return std::ranges::any_of(run.d, [&](std::uint64_t code) {
      return std::bit_cast<double>(convert(code, d, binary64).bits) < bound;
    });
  });
}

std::vector<Candidate> promising_candidates(const std::vector<Core>& cores,
                                            const KernelFacts& facts,
                                            std::span<const KernelRun> runs,
                                            const std::vector<std::size_t>& also) {
  std::vector<Candidate> out;
  if (is_integer(facts.types.d)) return out;
  for (const Epilogue& detour : promising(cores, facts, runs, also)) {
    const std::vector<Candidate> more = candidates_for(cores, facts, detour);
    out.insert(out.end(), more.begin(), more.end());
  }
  std::ranges::stable_sort(out, {}, &Candidate::departures);
  return out;
}

void search_detours(Identification& x, const KernelFacts& facts, const SearchOptions& options,
                    const SearchProgress& progress) {
  const std::vector<Candidate> tried =
      promising_candidates(x.cores, facts, x.runs, wrong_by_nearest(x));
  if (tried.empty()) return;
  SearchResult found = search(x.cores, tried, x.runs, options, progress);
  renumber(found, x.candidates.size());
  add_result(x.result, std::move(found), options);
  x.candidates.insert(x.candidates.end(), tried.begin(), tried.end());
}

}  // namespace binade
