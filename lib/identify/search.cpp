// SPDX-License-Identifier: Apache-2.0
//
// Compares candidates in rounds of growing samples; between two rounds the field of candidates is
// thinned. The result does not depend on the number of threads: work is split by candidate, and
// every choice is made between rounds.
#include "lib/identify/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "lib/gemm/activated.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/match.h"
#include "lib/identify/meaning.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t first_sample = 2;
constexpr std::size_t sample_growth = 4;
/// The part of the rejected candidates that is followed, of those that follow others a smaller one.
constexpr std::size_t followed = 4, followed_of_more = 16;
/// Rejected candidates are compared with at most this many elements.
constexpr std::size_t most_for_rejected = 1 << 12;
/// This many of the simplest models that were found are compared with the definition too, each on
/// elements that have at most this many multiply-adds in all.
constexpr std::size_t most_confirmed = 8;
constexpr std::size_t confirmed_products = std::size_t{1} << 22;
/// So many candidates, spread over the table, judge which elements distinguish most: their
/// different results for an element are counted, for as many elements as judged_products
/// multiply-adds allow. If D is narrow, few elements distinguish anything.
constexpr std::size_t judges = 48;
constexpr std::size_t judged_products = std::size_t{1} << 27;

/// If so many models explain every bit, others of which nothing is contradicted may stay open.
constexpr std::size_t enough = 8;

/// A task of a thread has at most so many models of one core, which share their sums, and at most
/// so many products of them.
struct AtOnce {
  std::size_t models, products;
};
constexpr AtOnce by_elements{1024, std::size_t{1} << 22};
constexpr AtOnce by_tiles{16, std::size_t{1} << 17};
constexpr std::size_t elements_at_once = 1024;
/// Computing all of D in tiles is faster than computing one of every so many elements by itself.
constexpr std::size_t whole_per_single = 8;

using Clock = std::chrono::steady_clock;

struct Place {
  std::size_t run, element;
};

/// Returns whether x comes nearer than y: whether it was followed longer or, if as long, has more
/// equal elements.
bool is_nearer(const Verdict& x, const Verdict& y) {
  return x.compared != y.compared ? x.compared > y.compared : x.equal > y.equal;
}

std::vector<Place> places_of(std::span<const KernelRun> runs) {
  std::vector<Place> out;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::size_t at = 0; at < runs[run].size(); ++at) out.push_back({run, at});
  }
  return out;
}

/// Elements of one run, and their numbers in the list of all.
struct PlacesOfRun {
  std::size_t run = 0;
  std::vector<std::size_t> elements, numbers;
};

/// Returns the places grouped by run, in the order of the runs.
std::vector<PlacesOfRun> by_run(std::span<const Place> places) {
  std::vector<PlacesOfRun> out;
  for (std::size_t number = 0; number < places.size(); ++number) {
    const Place& place = places[number];
    auto of = std::ranges::lower_bound(out, place.run, {}, &PlacesOfRun::run);
    if (of == out.end() || of->run != place.run) of = out.insert(of, {place.run, {}, {}});
    of->elements.push_back(place.element);
    of->numbers.push_back(number);
  }
  return out;
}

/// A piece of work: some models, as indices in the field, and some elements or rows of a run.
struct Task {
  std::span<const std::size_t> models;
  const PlacesOfRun* of;
  bool by_rows;
  std::size_t first, size;
  /// If by rows: number in the list of places of each element of D.
  std::span<const std::size_t> numbers;
};

/// Permutes the places, always in the same way (Fisher and Yates, SplitMix64).
void shuffle(std::vector<Place>& places) {
  std::uint64_t state = 0;
  for (std::size_t i = places.size(); i > 1; --i) {
    if (i % (std::size_t{1} << 18) == 0) poll();
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
    followed_ = options.known == 0 ? followed : followed_of_more;
    end_ = options.end;
    for (const KernelRun& run : runs()) k_ = std::max(k_, run.k);
    if (options.distinct) {
      for (std::size_t i = 0; i < candidates_.size(); ++i) distinct_.push_back({.candidate = i});
    } else {
      gather_distinct(options.known);
    }
    if (distinct_.empty())
      return {.elements = natural_.size(), .tried = 0, .explaining = {}, .rejected = {}};
    sort_by_difference();
    std::vector<std::size_t> all(distinct_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<Waiting> waiting{{std::move(all), 0}};
    std::size_t explaining = 0;
    while (!waiting.empty() && explaining < enough) {
      if (waiting.back().done > 0 && is_over()) break;
      const Waiting next = std::move(waiting.back());
      waiting.pop_back();
      explaining += compare_all(next, waiting, options);
    }
    return result(options);
  }

 private:
  bool agrees(const Verdict& x) const { return x.equal == x.compared; }
  const Candidate& candidate(const Verdict& x) const { return candidates_[x.candidate]; }
  std::span<const KernelRun> runs() const { return evaluator_.runs(); }

  /// Candidates, as indices in distinct_, that were compared with `done` elements.
  struct Waiting {
    std::vector<std::size_t> field;
    std::size_t done;
  };

  bool is_over() const { return Clock::now() > end_; }

  /// Compares candidates with all elements, in growing samples, and returns how many contradict
  /// none. Where many agree and a sample would cost much, the simplest go on and the others wait.
  std::size_t compare_all(Waiting next, std::vector<Waiting>& waiting,
                          const SearchOptions& options) {
    auto& [field, done] = next;
    std::size_t sample = done == 0 ? first_sample : done * sample_growth;
    while (done < sampled_.size() && !field.empty()) {
      sample = std::min(sampled_.size(), sample);
      if (done > 0) {
        if (is_over()) return 0;
        const std::size_t most = std::max(enough, options.round_products / ((sample - done) * k_));
        if (field.size() > most) {
          const auto agree =
              std::ranges::find_if(field, [&](std::size_t i) { return !agrees(distinct_[i]); });
          const auto first = field.begin() + static_cast<std::ptrdiff_t>(most);
          if (first < agree) waiting.push_back({{first, agree}, done});
          field.erase(first, field.end());
        }
      }
      if (!compare(field, done, sample)) return 0;
      done = sample;
      thin(field, options.nearest, done);
      if (!field.empty()) {
        best_ = fmt::format("best so far {} of {}", distinct_[field[0]].equal, done);
      }
      sample *= sample_growth;
    }
    return static_cast<std::size_t>(
        std::ranges::count_if(field, [&](std::size_t i) { return agrees(distinct_[i]); }));
  }

  /// Makes one verdict for all candidates that compute the same; the first of them is the simplest.
  /// The first `past` candidates get none, nor does what computes the same as one of them.
  void gather_distinct(std::size_t past) {
    std::vector<std::uint64_t> meanings(candidates_.size());
    each(candidates_.size(), "orders", [&](std::size_t i) {
      const GemmModel& g = candidates_[i].model;
      std::uint64_t meaning = 0;
      for (std::size_t run = 0; run < runs().size(); ++run) {
        if (run > 0 && runs()[run].k == runs()[run - 1].k) continue;
        SumProgram program;
        walk_sum(g, static_cast<int>(runs()[run].k), {}, program);
        const std::uint64_t one = meaning_of(g, program, added_in(runs()[run]));
        meaning = meaning * 0x9E3779B97F4A7C15 + one;
      }
      meanings[i] = meaning;
    });
    std::unordered_map<std::uint64_t, std::size_t> known;
    constexpr std::size_t before = ~std::size_t{0};
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto [at, is_first] =
          known.try_emplace(meanings[i], i < past ? before : distinct_.size());
      if (at->second == before) continue;
      if (is_first) {
        distinct_.push_back({.candidate = i});
      } else {
        distinct_[at->second].same.push_back(i);
      }
    }
  }

  /// Moves the elements on which models differ most to the front.
  void sort_by_difference() {
    const std::size_t affordable = std::max<std::size_t>(judged_products / (judges * k_), 256);
    const std::size_t elements = std::min(affordable, sampled_.size());
    const std::size_t models = std::min(judges, distinct_.size());
    std::vector<std::vector<std::uint64_t>> results(models);
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < models; ++i) chosen.push_back(i * distinct_.size() / models);
    for (auto& row : results) row.resize(elements);
    const bool judged = evaluate(
        chosen, std::span(sampled_).first(elements), "elements",
        [&](std::size_t i, std::size_t at, std::uint64_t d) {
          results[i][at] = result_of(candidate(distinct_[chosen[i]]).model, d);
        },
        end_);
    if (!judged) return;
    std::vector<std::size_t> order(elements);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> different(elements);
    for (std::size_t at = 0; at < elements; ++at) {
      if (at % elements_at_once == 0) poll();
      std::vector<std::uint64_t> seen;
      for (const auto& row : results) seen.push_back(row[at]);
      std::ranges::sort(seen);
      different[at] =
          static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
    }
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](std::size_t at) { return different[at]; });
    std::vector<Place> sorted;
    poll();
    for (const std::size_t at : order) sorted.push_back(sampled_[at]);
    std::ranges::copy(sorted, sampled_.begin());
  }

  /// Calls visit(i, at, d) with the result d of distinct_[field[i]] at places[at]; several threads
  /// call it at once. Returns false if `until` came before all was visited.
  template <class Visit>
  bool evaluate(const std::vector<std::size_t>& field, std::span<const Place> places,
                const char* stage, const Visit& visit,
                Clock::time_point until = Clock::time_point::max()) const {
    const auto core = [&](std::size_t i) { return candidate(distinct_[field[i]]).core; };
    std::vector<std::size_t> sorted(field.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, {}, core);
    const std::vector<PlacesOfRun> of_runs = by_run(places);
    std::vector<std::vector<std::size_t>> numbers(of_runs.size());
    std::vector<Task> tasks;
    for (std::size_t r = 0; r < of_runs.size(); ++r) {
      const PlacesOfRun& x = of_runs[r];
      const KernelRun& run = runs()[x.run];
      const bool by_rows =
          evaluator_.has_tiles(x.run) && x.elements.size() * whole_per_single >= run.size();
      if (by_rows) {
        numbers[r].assign(run.size(), places.size());
        for (std::size_t n = 0; n < x.elements.size(); ++n) {
          numbers[r][x.elements[n]] = x.numbers[n];
        }
      }
      const AtOnce& at_once = by_rows ? by_tiles : by_elements;
      const std::size_t most_models =
          std::clamp<std::size_t>(at_once.products / (run.k + 1), 1, at_once.models);
      const std::size_t size = by_rows ? run.m : x.elements.size();
      const std::size_t step = by_rows ? static_cast<std::size_t>(tile_rows) : elements_at_once;
      for (std::size_t first = 0, end = 0; first < sorted.size(); first = end) {
        const std::size_t most = std::min(sorted.size(), first + most_models);
        for (end = first + 1; end < most && core(sorted[end]) == core(sorted[first]);) ++end;
        for (std::size_t at = 0; at < size; at += step) {
          tasks.push_back({std::span(sorted).subspan(first, end - first), &x, by_rows, at,
                           std::min(step, size - at), numbers[r]});
        }
      }
    }
    const auto work = [&](std::size_t number) {
      const Task& task = tasks[number];
      Evaluated evaluated;
      for (const std::size_t i : task.models) evaluated.add(candidate(distinct_[field[i]]));
      const std::vector<const Candidate*>& models = evaluated.models;
      const auto told = [&](std::span<const std::size_t> numbers_of) {
        return [&, numbers_of](std::size_t i, std::size_t first, std::span<const std::uint64_t> d) {
          for (std::size_t n = 0; n < d.size(); ++n) {
            const std::size_t at = numbers_of[first + n];
            if (at < places.size()) visit(task.models[i], at, d[n]);
          }
        };
      };
      if (task.by_rows) {
        return evaluator_.evaluate_rows(models, task.of->run, task.first, told(task.numbers));
      }
      const std::span elements = std::span(task.of->elements).subspan(task.first, task.size);
      evaluator_.evaluate(models, task.of->run, elements,
                          told(std::span(task.of->numbers).subspan(task.first)));
    };
    return each(tasks.size(), stage, work, until);
  }
  std::uint64_t found(const Place& place) const { return runs()[place.run].d[place.element]; }
  Match match(const Verdict& x, const Place& place, std::uint64_t d) const {
    return match_of(candidate(x).model, d, found(place));
  }
  bool is_right(const Verdict& x, const Place& place, std::uint64_t d) const {
    return match(x, place, d) != Match::different;
  }

  /// Compares elements done … sample - 1 of the sample with everything in the field. Returns false
  /// if the time ended first, never for the first elements; then nothing is entered.
  bool compare(const std::vector<std::size_t>& field, std::size_t done, std::size_t sample) {
    const std::span some = std::span(sampled_).subspan(done, sample - done);
    std::vector<std::atomic<std::size_t>> equal(field.size());
    const auto visit = [&](std::size_t i, std::size_t at, std::uint64_t d) {
      equal[i] += is_right(distinct_[field[i]], some[at], d) ? 1 : 0;
    };
    const auto end = done == 0 ? Clock::time_point::max() : end_;
    if (!evaluate(field, some, best_.c_str(), visit, end)) return false;
    for (std::size_t i = 0; i < field.size(); ++i) {
      distinct_[field[i]].compared = sample;
      distinct_[field[i]].equal += equal[i];
    }
    return true;
  }

  /// Keeps the candidates that agree, and of the others the better part, but at least four times as
  /// many as are printed; none if none is printed, or once most_for_rejected elements are
  /// compared.
  void thin(std::vector<std::size_t>& field, std::size_t nearest, std::size_t done) {
    std::ranges::stable_sort(field, std::greater<>{},
                             [&](std::size_t i) { return distinct_[i].equal; });
    const auto wrong =
        std::ranges::find_if(field, [&](std::size_t i) { return !agrees(distinct_[i]); });
    const auto rest = static_cast<std::size_t>(field.end() - wrong);
    const std::size_t wanted = done >= most_for_rejected ? 0 : nearest == 0 ? 0 : 4 * nearest;
    const std::size_t stay = std::min(rest, std::max(wanted, wanted == 0 ? 0 : rest / followed_));
    field.erase(wrong + static_cast<std::ptrdiff_t>(stay), field.end());
  }

  SearchResult result(const SearchOptions& options) {
    SearchResult out;
    out.elements = natural_.size();
    out.tried = distinct_.size();
    for (Verdict& x : distinct_) {
      bool explains = x.compared == natural_.size() && agrees(x);
      if (explains) explains = is_decided(x);
      const bool open = !explains && agrees(x);
      (explains ? out.explaining : open ? out.open : out.rejected).push_back(std::move(x));
    }
    for (std::size_t i = 0; i < std::min(most_confirmed, out.explaining.size()); ++i) {
      confirm(out.explaining[i]);
    }
    std::ranges::stable_sort(out.rejected, is_nearer);
    const std::size_t told =
        options.all_rejected ? out.rejected.size() : std::min(options.nearest, out.rejected.size());
    each(told, "nearest", [&](std::size_t i) { find_first(out.rejected[i]); });
    return out;
  }

  /// Counts the undecided elements of a candidate that agrees with all. If they are too many for a
  /// conclusion, they no longer count as equal, and false is returned.
  bool is_decided(Verdict& x) const {
    if (!is_smooth(candidate(x).model.epilogue.activation)) return true;
    const std::size_t number = static_cast<std::size_t>(&x - distinct_.data());
    std::atomic<std::size_t> undecided = 0;
    evaluate({number}, natural_, "undecided", [&](std::size_t, std::size_t at, std::uint64_t d) {
      undecided += match(x, natural_[at], d) == Match::undecided ? 1 : 0;
    });
    x.undecided = undecided;
    if (are_enough(x.equal - undecided, x.equal)) return true;
    x.equal -= undecided;
    return false;
  }

  /// Checks that the definition gives the bits that the fast evaluation found.
  void confirm(const Verdict& x) const {
    std::vector<Place> some;
    std::size_t products = 0;
    for (const Place& place : sampled_) {
      products += runs()[place.run].k;
      if (products > confirmed_products && !some.empty()) break;
      some.push_back(place);
    }
    Evaluated evaluated;
    evaluated.add(candidate(x));
    std::atomic<bool> right = true;
    each(some.size(), "confirming", [&](std::size_t i) {
      const GemmElement<std::uint64_t> element = runs()[some[i].run].element(some[i].element);
      if (!is_right(x, some[i], gemm_element(evaluated.models[0]->model, element))) right = false;
    });
    if (!right) throw std::logic_error("a model was found that its own definition contradicts");
  }

  void find_first(Verdict& x) const {
    Evaluated evaluated;
    evaluated.add(candidate(x));
    auto step = static_cast<std::size_t>(tile_columns);
    for (std::size_t at = 0; at < natural_.size() && !x.first; at += step) {
      step = at == 0 ? step : elements_at_once;
      const std::span places =
          std::span(natural_).subspan(at, std::min(step, natural_.size() - at));
      poll();
      for (const PlacesOfRun& some : by_run(places)) {
        evaluator_.evaluate(evaluated.models, some.run, some.elements,
                            [&](std::size_t, std::size_t first, std::span<const std::uint64_t> d) {
                              for (std::size_t n = 0; n < d.size() && !x.first; ++n) {
                                const Place& place = places[some.numbers[first + n]];
                                if (is_right(x, place, d[n])) continue;
                                x.first = Contradiction{place.run, place.element,
                                                        result_of(candidate(x).model, d[n]),
                                                        found(place)};
                              }
                            });
      }
    }
  }

  /// Calls body(i) for each i < n on all threads. Returns false if `end` came first.
  template <class Body>
  bool each(std::size_t n, const char* stage, const Body& body,
            Clock::time_point end = Clock::time_point::max()) const {
    std::mutex reporting;
    std::size_t done = 0;
    std::atomic<bool> over = false;
    parallel_for(n, 1, [&](std::size_t i, std::size_t, std::size_t) {
      if (over || (end != Clock::time_point::max() && Clock::now() > end)) {
        over = true;
        return;
      }
      body(i);
      if (!progress_) return;
      const std::lock_guard lock(reporting);
      progress_(stage, static_cast<double>(++done) / static_cast<double>(n));
    });
    return !over;
  }

  const std::vector<Candidate>& candidates_;
  Evaluator evaluator_;
  const SearchProgress& progress_;
  std::vector<Place> natural_, sampled_;
  std::vector<Verdict> distinct_;
  std::size_t k_ = 1;  ///< the longest K of the runs
  std::size_t followed_ = followed;
  Clock::time_point end_ = Clock::time_point::max();
  std::string best_ = "comparing";  ///< what progress says
};

}  // namespace

SearchResult search(const std::vector<Core>& cores, const std::vector<Candidate>& candidates,
                    std::span<const KernelRun> runs, const SearchOptions& options,
                    const SearchProgress& progress) {
  return Search(cores, candidates, runs, progress).run(options);
}

void add_result(SearchResult& to, SearchResult more, const SearchOptions& options) {
  to.tried += more.tried;
  to.explaining = std::move(more.explaining);
  to.open = std::move(more.open);
  std::vector<Verdict> all;
  std::ranges::merge(std::move(to.rejected), std::move(more.rejected), std::back_inserter(all),
                     is_nearer);
  to.rejected = std::move(all);
  for (std::size_t i = options.nearest; i < to.rejected.size() && !options.all_rejected; ++i) {
    to.rejected[i].first.reset();
  }
}

}  // namespace binade
