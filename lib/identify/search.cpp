// SPDX-License-Identifier: Apache-2.0
//
// Rounds of growing samples; between them the field is thinned. What is found does not depend on the
// number of threads: work is split by candidate, and every choice is made between rounds.
#include "lib/identify/search.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "lib/identify/meaning.h"
#include "lib/parallel/parallel.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

constexpr std::size_t first_sample = 2;
constexpr std::size_t sample_growth = 4;
/// The rejected are followed for so many elements at most.
constexpr std::size_t most_for_rejected = 1 << 12;
/// The simplest models are held against the definition too, on so many products each.
constexpr std::size_t most_confirmed = 8;
constexpr std::size_t confirmed_products = std::size_t{1} << 22;
/// Of so many candidates, spread over the table, the different results of an element are counted; of as
/// many elements as so many products allow. Where D is narrow, few elements tell anything.
constexpr std::size_t judges = 48;
constexpr std::size_t judged_products = std::size_t{1} << 29;

struct Place {
  std::size_t run, element;
};

std::vector<Place> places_of(std::span<const KernelRun> runs) {
  std::vector<Place> out;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::size_t at = 0; at < runs[run].size(); ++at) out.push_back({run, at});
  }
  return out;
}

/// A fixed permutation (Fisher and Yates, SplitMix64).
void shuffle(std::vector<Place>& places) {
  std::uint64_t state = 0;
  for (std::size_t i = places.size(); i > 1; --i) {
    state += 0x9E3779B97F4A7C15;
    std::uint64_t x = state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    std::swap(places[i - 1], places[(x ^ x >> 31) % i]);
  }
}

class Search {
 public:
  Search(const std::vector<Core>& cores, const std::vector<Candidate>& candidates,
         std::span<const KernelRun> runs, const SearchProgress& progress)
      : candidates_(candidates),
        evaluator_(cores, runs),
        progress_(progress),
        natural_(places_of(runs)),
        sampled_(natural_) {
    if (natural_.empty()) throw Error("there is no element to compare; give a D that holds some");
    shuffle(sampled_);
  }

  SearchResult run(const SearchOptions& options) {
    gather_distinct();
    sort_by_telling();
    std::vector<std::size_t> field(distinct_.size());
    std::iota(field.begin(), field.end(), std::size_t{0});
    std::size_t done = 0;
    std::size_t sample = std::min(first_sample, sampled_.size());
    while (done < sampled_.size() && !field.empty()) {
      compare(field, done, sample);
      done = sample;
      thin(field, options.nearest, done);
      sample = std::min(sampled_.size(), sample * sample_growth);
    }
    return result(options);
  }

 private:
  bool agrees(const Verdict& x) const { return x.equal == x.compared; }
  const Candidate& candidate(const Verdict& x) const { return candidates_[x.candidate]; }
  std::span<const KernelRun> runs() const { return evaluator_.runs(); }

  /// One verdict for all candidates that compute the same: the first of them is the simplest.
  void gather_distinct() {
    std::vector<std::uint64_t> meanings(candidates_.size());
    each(candidates_.size(), "orders", [&](std::size_t i) {
      const GemmModel& g = candidates_[i].model;
      std::uint64_t meaning = 0;
      for (std::size_t run = 0; run < runs().size(); ++run) {
        if (run > 0 && runs()[run].k == runs()[run - 1].k) continue;
        SumProgram program;
        walk_sum(g, static_cast<int>(runs()[run].k), program);
        const std::uint64_t one =
            meaning_of(g, program, !runs()[run].c.empty(), !runs()[run].bias.empty());
        meaning = meaning * 0x9E3779B97F4A7C15 + one;
      }
      meanings[i] = meaning;
    });
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto [at, is_first] = known.try_emplace(meanings[i], distinct_.size());
      if (is_first) {
        distinct_.push_back({.candidate = i});
      } else {
        distinct_[at->second].same.push_back(i);
      }
    }
  }

  /// The elements on which models differ most come first.
  void sort_by_telling() {
    std::size_t k = 1;
    for (const KernelRun& run : runs()) k = std::max(k, run.k);
    const std::size_t affordable = std::max<std::size_t>(judged_products / (judges * k), 256);
    const std::size_t elements = std::min(affordable, sampled_.size());
    const std::size_t models = std::min(judges, distinct_.size());
    std::vector<std::vector<std::uint64_t>> results(models);
    each(models, "elements", [&](std::size_t i) {
      const Verdict& judge = distinct_[i * distinct_.size() / models];
      const std::span some = std::span(sampled_).first(elements);
      results[i].resize(elements);
      evaluate(judge, some, [&](std::size_t at, std::uint64_t d) {
        results[i][at] = d;
        return true;
      });
    });
    std::vector<std::size_t> order(elements);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> different(elements);
    for (std::size_t at = 0; at < elements; ++at) {
      std::vector<std::uint64_t> seen;
      for (const auto& row : results) seen.push_back(row[at]);
      std::ranges::sort(seen);
      different[at] =
          static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
    }
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](std::size_t at) { return different[at]; });
    std::vector<Place> sorted;
    for (const std::size_t at : order) sorted.push_back(sampled_[at]);
    std::ranges::copy(sorted, sampled_.begin());
  }

  /// visit(number, d) for these elements, until it says no.
  template <class Visit>
  void evaluate(const Verdict& x, std::span<const Place> places, const Visit& visit) const {
    const GemmModel& model = candidate(x).model;
    std::vector<std::unique_ptr<Prepared>> prepared(runs().size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::unique_ptr<Prepared>& ready = prepared[places[i].run];
      if (!ready) {
        ready =
            std::make_unique<Prepared>(evaluator_.prepare(model, candidate(x).core, places[i].run));
      }
      if (!visit(i, ready->element(places[i].element))) return;
    }
  }
  std::uint64_t found(const Place& place) const { return runs()[place.run].d[place.element]; }
  bool is_right(const Verdict& x, const Place& place, std::uint64_t d) const {
    return is_same_result(d, found(place), candidate(x).model.epilogue.out,
                          any_nan_fits(candidate(x).model));
  }

  /// Elements done .. sample of everyone in the field: many candidates share the threads, few share
  /// elements.
  void compare(const std::vector<std::size_t>& field, std::size_t done, std::size_t sample) {
    const std::size_t piece = field.size() >= 8 * thread_count() ? sample - done : std::size_t{256};
    const std::size_t pieces = (sample - done + piece - 1) / piece;
    std::vector<std::atomic<std::size_t>> equal(field.size());
    each(field.size() * pieces, "comparing", [&](std::size_t task) {
      const std::size_t first = done + task % pieces * piece;
      const std::size_t n = std::min(piece, sample - first);
      const std::span some = std::span(sampled_).subspan(first, n);
      const Verdict& x = distinct_[field[task / pieces]];
      std::size_t right = 0;
      evaluate(x, some, [&](std::size_t at, std::uint64_t d) {
        right += is_right(x, some[at], d) ? 1 : 0;
        return true;
      });
      equal[task / pieces] += right;
    });
    for (std::size_t i = 0; i < field.size(); ++i) {
      distinct_[field[i]].compared = sample;
      distinct_[field[i]].equal += equal[i];
    }
  }

  /// Who agrees stays; of the others the better quarter, and never fewer than are shown.
  void thin(std::vector<std::size_t>& field, std::size_t nearest, std::size_t done) {
    std::ranges::stable_sort(field, std::greater<>{},
                             [&](std::size_t i) { return distinct_[i].equal; });
    const auto wrong =
        std::ranges::find_if(field, [&](std::size_t i) { return !agrees(distinct_[i]); });
    const auto rest = static_cast<std::size_t>(field.end() - wrong);
    const std::size_t wanted = done >= most_for_rejected ? 0 : nearest == 0 ? 0 : 4 * nearest;
    const std::size_t stay = std::min(rest, std::max(wanted, wanted == 0 ? 0 : rest / 4));
    field.erase(wrong + static_cast<std::ptrdiff_t>(stay), field.end());
  }

  SearchResult result(const SearchOptions& options) {
    SearchResult out;
    out.elements = natural_.size();
    out.tried = distinct_.size();
    for (Verdict& x : distinct_) {
      const bool explains = x.compared == natural_.size() && agrees(x);
      (explains ? out.explaining : out.rejected).push_back(std::move(x));
    }
    for (std::size_t i = 0; i < std::min(most_confirmed, out.explaining.size()); ++i) {
      confirm(out.explaining[i]);
    }
    // Who was followed longest was nearest; among these, who has most elements right.
    std::ranges::stable_sort(out.rejected, [](const Verdict& x, const Verdict& y) {
      return x.compared != y.compared ? x.compared > y.compared : x.equal > y.equal;
    });
    const std::size_t told =
        options.all_rejected ? out.rejected.size() : std::min(options.nearest, out.rejected.size());
    each(told, "nearest", [&](std::size_t i) { find_first(out.rejected[i]); });
    return out;
  }

  /// The quick evaluation found every bit; the definition must too.
  void confirm(const Verdict& x) const {
    std::vector<Place> some;
    std::size_t products = 0;
    for (const Place& place : sampled_) {
      products += runs()[place.run].k;
      if (products > confirmed_products && !some.empty()) break;
      some.push_back(place);
    }
    std::atomic<bool> right = true;
    each(some.size(), "confirming", [&](std::size_t i) {
      const GemmElement<std::uint64_t> element = runs()[some[i].run].element(some[i].element);
      if (!is_right(x, some[i], gemm_element(candidate(x).model, element))) right = false;
    });
    if (!right) throw std::logic_error("a model was found that its own definition contradicts");
  }

  void find_first(Verdict& x) const {
    evaluate(x, natural_, [&](std::size_t at, std::uint64_t d) {
      if (is_right(x, natural_[at], d)) return true;
      x.first = Contradiction{natural_[at].run, natural_[at].element, d, found(natural_[at])};
      return false;
    });
  }

  /// body(i) for i < n on all threads.
  template <class Body>
  void each(std::size_t n, const char* stage, const Body& body) const {
    std::mutex telling;
    std::size_t done = 0;
    parallel_for(n, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) body(i);
      if (!progress_) return;
      const std::lock_guard lock(telling);
      done += end - begin;
      progress_(stage, static_cast<double>(done) / static_cast<double>(n));
    });
  }

  const std::vector<Candidate>& candidates_;
  Evaluator evaluator_;
  const SearchProgress& progress_;
  std::vector<Place> natural_, sampled_;
  std::vector<Verdict> distinct_;
};

}  // namespace

SearchResult search(const std::vector<Core>& cores, const std::vector<Candidate>& candidates,
                    std::span<const KernelRun> runs, const SearchOptions& options,
                    const SearchProgress& progress) {
  return Search(cores, candidates, runs, progress).run(options);
}

}  // namespace binade
