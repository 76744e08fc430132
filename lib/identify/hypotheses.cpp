// SPDX-License-Identifier: Apache-2.0
//
// Numbers say which mistakes are plausible (change_fit.h); a search on some elements under each of
// these finds the model, and all elements are counted by it.
#include "lib/identify/hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "emulate/arithmetic.h"
#include "emulate/instruction_shapes.h"
#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/identification.h"
#include "lib/identify/misplaced.h"
#include "lib/identify/text.h"
#include "lib/identify/unordered.h"
#include "lib/parallel/parallel.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

constexpr std::size_t most_tested = 5;  // plausible mistakes that are searched
constexpr std::size_t most_hypotheses = 4;
constexpr std::size_t searched_dots = 160;  // elements by which the model under a mistake is found
constexpr double most_products = 1 << 30;   // of sums that are computed for all elements

/// The model under a change that explains most, and which elements it gives.
struct TestedChange {
  Core core;
  GemmModel model{};
  std::vector<std::uint64_t> d;  ///< what it gives
  std::vector<bool> right;
  std::size_t equal = 0;
};

class HypothesisSearch {
 public:
  HypothesisSearch(const Identification& x, double seconds, const SearchProgress& progress)
      : x_(x),
        progress_(progress),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        given_{x.types, x.runs[0], {}} {
    if (!x.candidates.empty()) {
      const Epilogue& e = x.candidates[0].model.epilogue;
      given_.epilogue = {e.alpha, e.beta};
    }
  }

  KernelHypotheses run() {
    const KernelRun& run = given_.run;
    const double products = static_cast<double>(run.size()) * static_cast<double>(run.k);
    if (products <= most_products) sums_ = near_sums(given_);
    if (whole()) return std::move(out_);
    as_it_is();
    changes();
    if (sums_ && !explained()) {
      for (const bool rows : {true, false}) scaled_lines(rows);
      neighbours();
      unordered();
    }
    finish();
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool in_time() const { return Clock::now() < end_; }
  std::size_t elements() const { return given_.run.size(); }

  void tell(std::string words, std::size_t equal, std::string model) {
    out_.told.push_back({std::move(words), equal, elements(), std::move(model)});
  }

  /// Tells of a D of one value alone, where its sums are others. Returns whether that is all: a
  /// zero or a NaN everywhere fits many mistakes.
  bool whole() {
    const KernelRun& run = given_.run;
    const Format& f = given_.types.d;
    const bool same = std::ranges::all_of(run.d, [&](std::uint64_t d) { return d == run.d[0]; });
    if (!same || run.size() < 4 || !sums_) return false;
    bool near = true, tiny = true;
    for (std::size_t at = 0; at < run.size(); ++at) {
      near = near && is_near(*sums_, at, f);
      tiny = tiny && std::abs(sums_->exact[at]) < std::ldexp(1.0, f.emin());
    }
    if (near) return false;
    const double value = number_in(run.d[0], f);
    const bool flushed = value == 0 && tiny && !is_integer(f) && f.has_subnormals();
    out_.told.push_back(
        {flushed ? "every sum is subnormal, and flushed to zero"
                 : fmt::format("every element holds {:X}: D was never written, or not with sums",
                               run.d[0])});
    return value == 0 || std::isnan(value);
  }

  /// Finds the model under a change by some of these elements, and counts all by it.
  TestedChange test(const Change& change, const std::vector<std::size_t>& eligible) const {
    const std::vector<std::size_t> chosen = some_of(eligible);
    const KernelRun& was = given_.run;
    std::vector<std::size_t> rows, columns;
    for (const std::size_t at : chosen) {
      rows.push_back(was.row(at));
      columns.push_back(was.column(at));
    }
    const KernelCase part = part_of(given_, change, rows, columns, true);
    const bool own = !change.has_same_models() || x_.candidates.empty();
    std::vector<Core> cores;
    std::vector<Candidate> candidates;
    if (own) {
      cores = cores_for(part.types, x_.searched);
      candidates = candidates_for(cores, {.types = part.types,
                                          .k = part.run.k,
                                          .has_c = !part.run.c.empty(),
                                          .has_bias = !part.run.bias.empty(),
                                          .epilogue = part.epilogue});
      if (candidates.empty()) return {};
    }
    const std::vector<Core>& of_cores = own ? cores : x_.cores;
    const std::vector<Candidate>& of = own ? candidates : x_.candidates;
    return best_of(change, of_cores, of, part.run, chosen, eligible);
  }

  /// Where the simplest model that explains the chosen elements is wrong elsewhere, those that are
  /// left are held to some of the elements that it gets wrong.
  TestedChange best_of(const Change& change, const std::vector<Core>& cores,
                       const std::vector<Candidate>& all, const KernelRun& chosen,
                       const std::vector<std::size_t>& places,
                       const std::vector<std::size_t>& eligible) const {
    constexpr int most_rounds = 4;
    std::vector<bool> is_known(elements());
    for (const std::size_t at : places) is_known[at] = true;
    SearchResult found = search(cores, all, std::vector<KernelRun>{chosen}, {.nearest = 1});
    std::vector<Candidate> left;
    TestedChange out;
    for (int round = 0; round < most_rounds; ++round) {
      const std::vector<Candidate>& of = round == 0 ? all : left;
      const bool some = !found.explaining.empty();
      const Candidate best = of[(some ? found.explaining : found.rejected)[0].candidate];
      TestedChange tested = counted_by(change, cores[best.core], best.model);
      if (round == 0 || tested.equal > out.equal) out = std::move(tested);
      if (found.explaining.size() < 2 || out.equal == elements()) break;
      std::vector<std::size_t> wrong;
      for (const std::size_t at : eligible) {
        if (!out.right[at] && !is_known[at]) wrong.push_back(at);
      }
      if (wrong.empty()) break;
      std::vector<std::size_t> rows, columns;
      for (const std::size_t at : some_of(wrong)) {
        is_known[at] = true;
        rows.push_back(given_.run.row(at));
        columns.push_back(given_.run.column(at));
      }
      std::vector<Candidate> next;
      for (const Verdict& verdict : found.explaining) next.push_back(of[verdict.candidate]);
      left = std::move(next);
      const KernelCase part = part_of(given_, change, rows, columns, true);
      found = search(cores, left, std::vector<KernelRun>{part.run}, {.nearest = 1});
    }
    return out;
  }

  /// Counts all elements by one model under a change.
  TestedChange counted_by(const Change& change, const Core& core, const GemmModel& model) const {
    TestedChange out{core, model, {}, {}, 0};
    const KernelCase whole = changed(given_, change);
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

  /// Some of these elements, spread evenly.
  static std::vector<std::size_t> some_of(const std::vector<std::size_t>& from) {
    std::vector<std::size_t> out;
    for (const std::size_t i : spread_over(from.size(), searched_dots)) out.push_back(from[i]);
    return out;
  }

  /// The elements that are far off, where most are near.
  std::vector<std::size_t> far_off() const {
    std::vector<double> distances(elements());
    for (std::size_t at = 0; at < elements(); ++at) distances[at] = sums_->distance(at);
    // The nearest tenth is near also where most elements are cut off.
    std::vector<double> sorted = distances;
    const auto tenth = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 10);
    std::nth_element(sorted.begin(), tenth, sorted.end());
    std::vector<std::size_t> out;
    for (std::size_t at = 0; at < elements(); ++at) {
      if (distances[at] > 128 * *tenth && !is_near(*sums_, at, given_.types.d)) out.push_back(at);
    }
    return out;
  }

  /// The exact sums, rounded to D's format.
  std::vector<std::uint64_t> exact_codes() const {
    std::vector<std::uint64_t> out;
    const Format& f = given_.types.d;
    for (const double x : sums_->exact) {
      out.push_back(is_integer(f) ? static_cast<std::uint32_t>(static_cast<std::int64_t>(
                                        std::isfinite(x) ? std::clamp(x, -0x1p31, 0x1p31 - 1) : 0))
                                  : convert(std::bit_cast<std::uint64_t>(x), binary64, f).bits);
    }
    return out;
  }

  /// D as it is: what the nearest model gives, and what the other elements are.
  void as_it_is() {
    if (progress_) progress_("the nearest", 0.01);
    std::vector<std::size_t> far = sums_ ? far_off() : std::vector<std::size_t>{};
    if (2 * far.size() > elements() && misplaced(given_, far, exact_codes()).words.empty()) {
      far.clear();
    }
    std::vector<bool> is_far(elements());
    for (const std::size_t at : far) is_far[at] = true;
    std::vector<std::size_t> others;
    for (std::size_t at = 0; at < elements(); ++at) {
      if (!is_far[at]) others.push_back(at);
    }
    if (x_.candidates.empty()) return;
    const TestedChange base = test({}, others);
    base_equal_ = base.equal;
    std::vector<std::size_t> rest;
    for (std::size_t at = 0; at < elements(); ++at) {
      if (!base.right[at]) rest.push_back(at);
    }
    if (rest.empty()) return;
    // Where the model is not known, the rest is what numbers say.
    const bool most = 2 * far.size() > elements();
    if ((!most && 2 * rest.size() > elements()) || (!far.empty() && rest.size() > 2 * far.size()))
      rest = far;
    if (rest.empty()) return;
    const std::string model = command_of(base.core, base.model);
    MisplacedBits found = misplaced(given_, rest, base.d);
    if (!found.words.empty()) {
      tell(found.words, base.equal + found.elements, model);
      return;
    }
    if (changed_in(rest, base)) return;
    if (2 * base.equal < elements() || far.empty()) return;
    tell(fmt::format("{} elements are none of these sums, all others are: {}", rest.size(),
                     region_words(given_.run, rest)),
         base.equal, model);
  }

  /// A mistake in some of the elements alone.
  bool changed_in(const std::vector<std::size_t>& rest, const TestedChange& base) {
    if (rest.size() < 8) return false;
    std::vector<std::size_t> rows, columns;
    for (const std::size_t i : spread_over(rest.size(), 256)) {
      rows.push_back(given_.run.row(rest[i]));
      columns.push_back(given_.run.column(rest[i]));
    }
    const KernelCase part = part_of(given_, {}, rows, columns, true);
    std::vector<Change> all = usual_changes(given_);
    for (Change& change : measured_changes(part)) all.push_back(std::move(change));
    const ChangeFit before = fit_of(part);
    const Change* best = nullptr;
    ChangeFit best_fit = before;
    for (const Change& change : all) {
      const ChangeFit fit = fit_of(part_of(given_, change, rows, columns, true));
      if (fit.near > best_fit.near + 0.05 ||
          (fit.near >= best_fit.near && fit.spread < best_fit.spread / 2)) {
        best = &change;
        best_fit = fit;
      }
    }
    if (best == nullptr || best_fit.spread > before.spread / 4) return false;
    TestedChange tested;
    if (best->has_same_models()) {
      tested = counted_by(*best, base.core, base.model);
    } else {
      GemmModel model = base.model;
      model.epilogue.alpha *= best->alpha;
      model.epilogue.beta *= best->beta;
      const bool same_types = !best->as_a && !best->as_b && !best->as_c && !best->as_d;
      if (same_types) tested = counted_by(*best, base.core, model);
    }
    std::size_t equal = 0;
    for (const std::size_t at : rest) equal += !tested.right.empty() && tested.right[at] ? 1U : 0U;
    if (2 * equal < rest.size() && in_time()) {
      tested = test(*best, rest);
      equal = 0;
      for (const std::size_t at : rest) {
        equal += !tested.right.empty() && tested.right[at] ? 1U : 0U;
      }
    }
    if (tested.right.empty() || equal == 0) return false;
    tell(fmt::format("{}, in {} ({} of these {} elements are equal so)", best->words,
                     region_words(given_.run, rest), equal, rest.size()),
         base.equal + equal, command_of(base.core, base.model));
    return true;
  }

  void changes() {
    std::vector<Change> all = usual_changes(given_);
    for (Change& change : measured_changes(given_)) all.push_back(std::move(change));
    out_.tried = all.size();
    std::vector<ChangeFit> fits(all.size());
    ChangeFit before = fit_of(sample_of(given_, {}));
    if (x_.candidates.empty()) before = {0, 0, 1};  // no model has these types
    parallel_for(all.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) fits[i] = fit_of(sample_of(given_, all[i]));
    });
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_better(fits[i], before)) order.push_back(i);
    }
    // Distances that differ little are the same; then the share of equal elements decides.
    const auto size = [&](std::size_t i) {
      return std::lround(std::log2(fits[i].spread + 0x1p-80));
    };
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
      if (std::abs(fits[i].near - fits[j].near) > 0.05) return fits[i].near > fits[j].near;
      if (size(i) != size(j)) return size(i) < size(j);
      return fits[i].equal > fits[j].equal;
    });
    std::size_t tested = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t i = order[place];
      const auto is_same = [&](std::size_t other) { return is_same_fit(fits[i], fits[other]); };
      if (std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(place), is_same)) {
        continue;  // told with the other
      }
      if (tested == most_tested || explained()) break;
      if (!in_time()) {
        out_.left_out.push_back(all[i].words);
        continue;
      }
      if (progress_) {
        progress_("hypotheses", static_cast<double>(tested + 1) / (most_tested + 1));
      }
      ++tested;
      std::vector<std::string> same;
      for (std::size_t other = place + 1; other < order.size(); ++other) {
        const std::string& words = all[order[other]].words;
        if (is_same(order[other]) && words != all[i].words) same.push_back(words);
      }
      if (same.size() > 3) {
        same.resize(3);
        same.emplace_back("…");
      }
      const std::string also =
          same.empty() ? "" : fmt::format("; the same here: {}", fmt::join(same, "; "));
      test_change(all[i], fits[i], before, also);
    }
  }

  /// Whether two changes are one and the same for these matrices.
  static bool is_same_fit(const ChangeFit& x, const ChangeFit& y) {
    return x.near == y.near && x.equal == y.equal && x.spread == y.spread && x.spread > 0;
  }
  static bool is_better(const ChangeFit& fit, const ChangeFit& before) {
    return fit.spread < 0.6 * before.spread || fit.equal > before.equal + 0.04 ||
           fit.near > before.near + 0.1;
  }
  bool explained() const {
    return std::ranges::any_of(out_.told, [](const KernelHypothesis& x) {
      return x.elements > 0 && x.equal == x.elements;
    });
  }

  void test_change(const Change& change, const ChangeFit& fit, const ChangeFit& before,
                   const std::string& also) {
    std::vector<std::size_t> all(elements());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const TestedChange tested = test(change, all);
    if (tested.right.empty()) return;
    const bool near = fit.near >= 0.95 && before.near < 0.9;
    const bool more = tested.equal > base_equal_ + elements() / 64;
    if (!more || (2 * tested.equal < elements() && !near)) return;
    std::string words = change.words + also;
    if (tested.equal < elements() && near)
      words += "; what is not equal lies within rounding of it";
    tell(std::move(words), tested.equal, command_of(tested.core, tested.model, change.options));
  }

  /// Rows, or columns, that are each scaled by a factor of their own.
  void scaled_lines(bool rows) {
    const KernelRun& run = given_.run;
    const Format& f = given_.types.d;
    if (run.dots || is_integer(f) || !run.c.empty() || !run.bias.empty()) return;
    const std::size_t lines = rows ? run.m : run.n, others = rows ? run.n : run.m;
    if (lines < 2 || others < 4 || x_.candidates.empty()) return;
    const auto place = [&](std::size_t line, std::size_t other) {
      return rows ? line * run.n + other : other * run.n + line;
    };
    std::vector<double> factors(lines, 1);
    std::size_t measured = 0, different = 0;
    for (std::size_t line = 0; line < lines; ++line) {
      std::vector<double> ratios;
      for (std::size_t other = 0; other < others; ++other) {
        const std::size_t at = place(line, other);
        const double ratio = sums_->found[at] / sums_->exact[at];
        if (std::abs(sums_->exact[at]) < sums_->size[at] / 64 || !std::isfinite(ratio)) continue;
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
    if (10 * measured < 9 * lines || 4 * different < lines) return;
    if (!in_time()) {
      out_.left_out.emplace_back(rows ? "rows scaled" : "columns scaled");
      return;
    }
    count_scaled_lines(rows, factors, place);
  }

  void count_scaled_lines(bool rows, const std::vector<double>& factors, const auto& place) {
    constexpr std::size_t most_cores = 20;
    const Format& f = given_.types.d;
    const KernelRun& run = given_.run;
    const std::size_t others = rows ? run.n : run.m;
    std::size_t most = 0;
    std::string model;
    std::vector<std::size_t> seen;
    for (const Candidate& candidate : x_.candidates) {
      if (seen.size() == most_cores || most == elements() || !in_time()) break;
      const bool known = std::ranges::find(seen, candidate.core) != seen.end();
      if (known || candidate.model.sum.splits[0].parts > 1) continue;
      seen.push_back(candidate.core);
      GemmModel g = candidate.model;
      if (!fits_in(g.types.d, binary32)) continue;
      g.epilogue.out = binary32;
      const std::vector<std::uint64_t> sums = gemm(g, operands_of(run));
      std::vector<std::size_t> equal(factors.size());
      parallel_for(factors.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t line = begin; line < end; ++line) {
          const auto equal_by = [&](std::uint64_t factor) {
            std::size_t out = 0;
            for (std::size_t other = 0; other < others; ++other) {
              const std::size_t at = place(line, other);
              const Projected scaled = compute(Operation::multiply, {factor, sums[at]},
                                               {binary32, binary32}, binary32, Attributes{});
              out += convert(scaled.bits, binary32, f).bits == run.d[at] ? 1U : 0U;
            }
            return out;
          };
          // The factor is known to a few units in its last place.
          const std::uint64_t near =
              convert(std::bit_cast<std::uint64_t>(factors[line]), binary64, binary32).bits;
          const double clean = std::exp2(std::round(std::log2(std::abs(factors[line]))));
          const std::uint64_t power =
              convert(std::bit_cast<std::uint64_t>(std::copysign(clean, factors[line])), binary64,
                      binary32)
                  .bits;
          equal[line] = equal_by(power);
          for (int step = -8; step <= 8; ++step) {
            equal[line] = std::max(equal[line], equal_by(near + static_cast<std::uint64_t>(step)));
          }
        }
      });
      const std::size_t all = std::accumulate(equal.begin(), equal.end(), std::size_t{0});
      if (all <= most) continue;
      most = all;
      model = command_of(x_.core(candidate), candidate.model);
    }
    const char* const noun = rows ? "row" : "column";
    tell(fmt::format(
             "each {} scaled by a factor of its own: {} 0 by about {:.6g}, {} 1 by about {:.6g}",
             noun, noun, factors[0], noun, factors[1]),
         most, std::move(model));
  }

  /// Elements that are each one of the two neighbours of the exact sum.
  void neighbours() {
    const std::optional<Format> narrow = narrower_d(given_);
    const Format f = narrow.value_or(given_.types.d);
    if (is_integer(f) || f.precision > 11 || 2 * base_equal_ > 2 * elements() - elements() / 10)
      return;
    std::size_t inexact = 0, up = 0;
    double expected = 0;
    std::size_t small = 0, small_up = 0, large = 0, large_up = 0;
    for (std::size_t at = 0; at < elements(); ++at) {
      const double x = sums_->exact[at];
      const auto rounded = [&](Rounding rounding) {
        return number_in(
            convert(std::bit_cast<std::uint64_t>(std::abs(x)), binary64, f, {.rounding = rounding})
                .bits,
            f);
      };
      if (!std::isfinite(x)) return;
      const double found = std::copysign(1.0, x) * sums_->found[at];
      const double low = rounded(Rounding::toward_zero), high = rounded(Rounding::toward_positive);
      const double slack = 0x1p-20 * sums_->size[at];
      const bool is_low = found == low, is_high = found == high;
      if (!is_low && !is_high) {
        // An error of the sum may have carried it over a number of the format.
        if (!(std::abs(found - std::abs(x)) <= (high - low) + slack)) return;
        continue;
      }
      if (low == high) continue;
      const double fraction = (std::abs(x) - low) / (high - low);
      ++inexact;
      up += is_high ? 1U : 0U;
      expected += fraction;
      if (fraction < 0.25) {
        ++small;
        small_up += is_high ? 1U : 0U;
      } else if (fraction >= 0.75) {
        ++large;
        large_up += is_high ? 1U : 0U;
      }
    }
    if (inexact < 16 || small == 0 || large == 0) return;
    const auto share = [](std::size_t part, std::size_t all) {
      return percent(static_cast<double>(part) / static_cast<double>(all));
    };
    const double low_up = static_cast<double>(small_up) / static_cast<double>(small);
    const double high_up = static_cast<double>(large_up) / static_cast<double>(large);
    // To nearest, none of the small fractions goes up and all of the large do.
    if (low_up < 0.01 && high_up > 0.99) return;
    const bool drawn = std::abs(static_cast<double>(up) - expected) <
                           4 * std::sqrt(static_cast<double>(inexact)) &&
                       low_up > 0.02 && high_up < 0.98;
    const char* const what = 100 * up < inexact        ? "toward zero"
                             : 100 * up > 99 * inexact ? "away from zero"
                             : drawn                   ? "stochastically"
                                                       : "by a rule of its own";
    out_.told.push_back({fmt::format(
        "each element is one of the two numbers of {} beside the exact sum, rounded {}: {} went up "
        "in magnitude, the discarded fractions would give {}; of fractions below 1/4 {} "
        "went up, from 3/4 on {}",
        type_name(f), what, share(up, inexact), percent(expected / static_cast<double>(inexact)),
        share(small_up, small), share(large_up, large))});
  }

  /// Parts of K that were added in an order of its own for each element.
  void unordered() {
    std::size_t near = 0;
    for (std::size_t at = 0; at < elements(); ++at) {
      near += is_near(*sums_, at, given_.types.d) ? 1U : 0U;
    }
    if (10 * near < 9 * elements() || 10 * base_equal_ > 9 * elements()) return;
    const auto found = unordered_parts(given_, x_.cores, end_);
    if (!found) return;
    out_.told.push_back(
        {fmt::format(
             "K in {} parts, added in f32 in an order of its own for each element, as by "
             "atomics: some order gives each of {} elements that were tried, but only {} of "
             "the numbers next to them",
             found->parts, found->tried, found->beside),
         0, 0, command_of(x_.cores[found->core], x_.cores[found->core].plain)});
  }

  void finish() {
    // What is told of every element stands before what makes only some of them equal.
    std::ranges::stable_sort(out_.told, std::greater<>{}, [](const KernelHypothesis& x) {
      return x.elements == 0 ? SIZE_MAX - 1 : x.equal == x.elements ? SIZE_MAX : x.equal;
    });
    if (explained()) {
      std::erase_if(out_.told, [](const KernelHypothesis& x) {
        return x.elements == 0 || x.equal < x.elements;
      });
    }
    if (out_.told.size() > most_hypotheses) out_.told.resize(most_hypotheses);
  }

  const Identification& x_;
  const SearchProgress& progress_;
  Clock::time_point end_;
  KernelCase given_;
  std::optional<NearSums> sums_;
  std::size_t base_equal_ = 0;
  KernelHypotheses out_;
};

}  // namespace

KernelHypotheses hypotheses_of(const Identification& x, double seconds,
                               const SearchProgress& progress) {
  if (!x.result.explaining.empty() || x.runs.empty()) return {};
  return HypothesisSearch(x, seconds, progress).run();
}

}  // namespace binade
