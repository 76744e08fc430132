// SPDX-License-Identifier: Apache-2.0
//
// Numbers say which mistakes are plausible (plausible.h); a search on some elements under each of
// these finds the model, and all elements are counted by it (tested_change.h).
#include "lib/identify/hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "emulate/instruction_shapes.h"
#include "emulate/project.h"
#include "lib/gemm/files.h"
#include "lib/identify/changed_part.h"
#include "lib/identify/formulas.h"
#include "lib/identify/identification.h"
#include "lib/identify/line_factors.h"
#include "lib/identify/met_runs.h"
#include "lib/identify/misplaced.h"
#include "lib/identify/neighbours.h"
#include "lib/identify/plausible.h"
#include "lib/identify/several_runs.h"
#include "lib/identify/tested_change.h"
#include "lib/identify/text.h"
#include "lib/identify/together.h"
#include "lib/identify/unordered.h"
#include "lib/identify/weighed_groups.h"
#include "lib/number/spread_places.h"
#include "lib/number/ulp_distance.h"

namespace binade {
namespace {

constexpr std::size_t most_tested = 5;  // plausible mistakes that are searched
constexpr std::size_t most_firsts = 2;  // of those to which another one is added
constexpr std::size_t most_seconds = 2;
constexpr std::size_t most_hypotheses = 4;
constexpr double most_products = 1 << 30;  // of sums that are computed for all elements
constexpr const char* within_rounding = "; what is not equal lies within rounding of it";

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
    if (whole() || undecided()) return std::move(out_);
    as_it_is();
    changes();
    if (sums_ && !explained()) {
      for (const bool rows : {true, false}) factors_of_lines(rows);
      factors_of_groups();
    }
    bool is_told = false;  // of every element, so that two mistakes at once would say less
    if (sums_ && !explained()) {
      neighbours();
      is_told = (!is_near_all_ && by_formula()) || unordered();
    }
    if (sums_ && !explained() && !is_told) is_told = uncleared_promotions();
    if (!explained() && !is_told) several_at_once();
    right_lines();
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

  /// The options of `binade gemm` that give a model, of the operands as they were searched.
  std::string command(const Core& core, const GemmModel& model, std::string more = "") const {
    if (x_.searched.rounded && more.empty()) more = round_option(*x_.searched.rounded);
    return command_of(core, model, more);
  }

  /// Tells of a D of one value alone, where its sums are others. Returns whether that is all: a
  /// zero or a NaN everywhere fits many mistakes.
  bool whole() {
    std::string words = sums_ ? one_value_words(given_, *sums_) : "";
    if (words.empty()) return false;
    out_.told.push_back({std::move(words)});
    const double value = number_in(given_.run.d[0], given_.types.d);
    return value == 0 || std::isnan(value);
  }

  /// Tells of an activation that contradicts no element but decides too few to explain D. Returns
  /// whether it decides enough for there to be no other mistake.
  bool undecided() {
    constexpr std::size_t enough = 64;
    const auto found =
        std::ranges::find_if(x_.result.rejected, [](const Verdict& x) { return x.undecided > 0; });
    if (found == x_.result.rejected.end()) return false;
    const Candidate& one = x_.candidate(*found);
    out_.told.push_back(
        {fmt::format(
             "D by {}: no element contradicts it, but {} of {} are not decided: each is one "
             "of those that its formula can give in binary32",
             activation_name(one.model.epilogue.activation), found->undecided, elements()),
         0, 0, command(x_.core(one), one.model)});
    return found->equal >= enough;
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
    const std::size_t all_far = far.size();
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
    const TestedChange base = tested(x_, given_, {}, others);
    base_equal_ = base.equal;
    if (!base.right.empty()) {
      right_lines_ = right_lines_words(given_.run, base.right);
      base_model_ = command_of(base.core, base.model);
    }
    std::vector<std::size_t> rest;
    for (std::size_t at = 0; at < elements(); ++at) {
      if (!base.right[at]) rest.push_back(at);
    }
    if (rest.empty()) return;
    // What lies within rounding is another order, of which no line is right by itself.
    if (2 * all_far < rest.size()) right_lines_.clear();
    if (few_ulps_off(base)) return;
    // Where the model is not known, the rest is what numbers say.
    const bool most = 2 * far.size() > elements();
    if ((!most && 2 * rest.size() > elements()) || (!far.empty() && rest.size() > 2 * far.size()))
      rest = far;
    if (rest.empty()) return;
    const std::string model = command(base.core, base.model);
    MisplacedBits found = misplaced(given_, rest, base.d);
    if (!found.words.empty()) {
      // Where no model is near, a few alike are so by chance.
      const std::size_t equal = base.equal + found.elements;
      if (2 * base.equal >= elements() || is_more(equal)) tell(found.words, equal, model);
      return;
    }
    if (changed_in(rest, base)) return;
    constexpr std::size_t least_right = 4;
    if (2 * base.equal < elements() || base.equal < least_right || far.empty()) return;
    tell(
        fmt::format("{} none of these sums, all others are; they may be old, or never written: {}",
                    rest.size() == 1 ? "1 element is" : fmt::format("{} elements are", rest.size()),
                    region_words(given_.run, rest)),
        base.equal, model);
  }

  /// Tells of a few elements that are next to a model's, where all others are equal.
  bool few_ulps_off(const TestedChange& base) {
    constexpr std::uint64_t most_ulps = 2;
    const Format& f = given_.types.d;
    if (is_integer(f) || 10 * base.equal < 9 * elements()) return false;
    std::vector<std::size_t> wrong;
    std::uint64_t farthest = 0;
    for (std::size_t at = 0; at < elements(); ++at) {
      if (base.right[at]) continue;
      const std::optional<std::uint64_t> off = ulp_distance(base.d[at], given_.run.d[at], f);
      if (!off || *off > most_ulps) return false;
      wrong.push_back(at);
      farthest = std::max(farthest, *off);
    }
    if (wrong.empty()) return false;
    tell(fmt::format(
             "{} {} ulp from these sums, all others are equal: {}",
             wrong.size() == 1 ? "1 element is" : fmt::format("{} elements are", wrong.size()),
             farthest == 1 ? "1" : "1 or 2", region_words(given_.run, wrong)),
         base.equal, command(base.core, base.model));
    return true;
  }

  /// A mistake in some of the elements alone.
  bool changed_in(const std::vector<std::size_t>& rest, const TestedChange& base) {
    const std::optional<PartChange> best = change_of_part(given_, rest, base.model);
    if (!best) return false;
    const Change& change = best->change;
    TestedChange found;
    if (change.has_same_models()) {
      found = counted_by(given_, change, base.core, base.model);
    } else {
      GemmModel model = base.model;
      model.epilogue.alpha *= change.alpha;
      model.epilogue.beta *= change.beta;
      const bool same_types = !change.as_a && !change.as_b && !change.as_c && !change.as_d;
      if (same_types) found = counted_by(given_, change, base.core, model);
    }
    const auto count = [&] {
      if (found.right.empty()) return std::ptrdiff_t{0};
      return std::ranges::count_if(rest, [&](std::size_t at) { return bool{found.right[at]}; });
    };
    if (2 * count() < static_cast<std::ptrdiff_t>(rest.size()) && in_time()) {
      found = tested(x_, given_, change, rest);
    }
    const auto equal = static_cast<std::size_t>(count());
    // A mistake of some elements means something where the others are right.
    if (!is_cause_of(equal, rest.size()) || 2 * (base.equal + equal) < elements()) return false;
    tell(part_words(given_, rest, base.d, change, equal), base.equal + equal,
         command(base.core, base.model));
    return true;
  }

  /// The lines that are right, where nothing is known of the others.
  void right_lines() {
    const bool some =
        std::ranges::any_of(out_.told, [](const auto& one) { return one.elements > 0; });
    if (some || right_lines_.empty()) return;
    tell(fmt::format("{} are right; what the others hold is not known", right_lines_), base_equal_,
         base_model_);
  }

  void changes() {
    const PlausibleChanges plausible = plausible_changes(given_, !x_.candidates.empty());
    out_.tried = plausible.tried;
    std::size_t number = 0;
    for (const PlausibleChange& one : plausible.nearest) {
      if (number++ == most_tested || explained()) break;
      if (!is_begun(one.change.words, static_cast<double>(number) / (most_tested + 1))) continue;
      test_change(one, plausible.before);
    }
  }

  /// Rows, or columns, that are each scaled by a factor of their own.
  void factors_of_lines(bool rows) {
    auto scaled = scaled_lines(x_, given_, *sums_, rows, [this] { return in_time(); });
    if (!scaled) return;
    if (is_more(scaled->equal)) {
      out_.told.push_back(std::move(*scaled));
    } else if (!in_time()) {
      out_.left_out.push_back(std::move(scaled->words));
    }
  }

  /// Runs of K that are each scaled by a factor of their own.
  void factors_of_groups() {
    auto weighed = weighed_groups(x_, given_, [this] { return in_time(); });
    if (weighed && is_more(weighed->equal)) out_.told.push_back(std::move(*weighed));
  }

  /// Whether there is time for another test, which is entered as left out if there is none.
  bool is_begun(const std::string& words, double done) {
    if (!in_time()) {
      out_.left_out.push_back(words);
      return false;
    }
    if (progress_) progress_("hypotheses", done);
    return true;
  }

  /// Two mistakes at once: a plausible one, or none, and with it another one, another way from the
  /// sum to D, or a narrow accumulator. Where all numbers of D are of a narrower format, they were
  /// rounded to it, whatever else is wrong.
  void several_at_once() {
    const std::optional<Change> narrowed = rounded_d(given_);
    const KernelCase start = narrowed ? changed(given_, *narrowed) : given_;
    const std::string words = narrowed ? narrowed->words : "";
    test_ways(start, words, narrowed.has_value());
    const PlausibleChanges plausible = plausible_changes(start, !x_.candidates.empty());
    std::size_t number = 0;
    for (const PlausibleChange& first : plausible.nearest) {
      if (number++ == most_firsts || explained()) break;
      const std::string both = joined(first.change.words, words);
      if (!is_begun(both + ", and another mistake", static_cast<double>(number) / 3)) continue;
      const KernelCase under = changed(start, first.change);
      if (narrowed) test_pair(under, {}, both, TestedModels::usual, first.change.options);
      test_ways(under, both, true, first.change.options);
      const PlausibleChanges seconds = plausible_changes(under);
      for (std::size_t i = 0; i < std::min(most_seconds, seconds.nearest.size()); ++i) {
        const Change& second = seconds.nearest[i].change;
        test_pair(under, second, joined(joined(first.change.words, second.words), words),
                  TestedModels::usual, first.change.options);
      }
    }
  }

  static std::string joined(const std::string& one, const std::string& other) {
    return one.empty() || other.empty() ? one + other : one + ", and " + other;
  }

  /// Other ways from the products to D than usual ones.
  void test_ways(const KernelCase& under, const std::string& words, bool detours,
                 const std::string& options = "") {
    test_pair(under, {}, words, TestedModels::narrow_sums, options);
    if (detours) test_pair(under, {}, words, TestedModels::detours, options);
  }

  /// Tells of two changes, of which `under` is the case after the first, if they make more equal
  /// than all that was told before.
  void test_pair(const KernelCase& under, const Change& second, const std::string& words,
                 TestedModels which, const std::string& options) {
    const char* const no_words = "two mistakes at once";
    if (explained() || !is_begun(words.empty() ? no_words : words, 0.9)) return;
    const TestedChange found = tested(x_, under, second, every(), which);
    std::size_t most = base_equal_;
    for (const KernelHypothesis& told : out_.told) most = std::max(most, told.equal);
    if (found.right.empty() || !is_more(found.equal, most) || 2 * found.equal < elements()) return;
    if (!second.words.empty() && which == TestedModels::usual) {
      // A second one that does it all needs no first.
      const TestedChange alone = tested(x_, given_, second, every());
      if (alone.equal >= found.equal) {
        tell(second.words, alone.equal, command(alone.core, alone.model, second.options));
        return;
      }
    }
    GemmModel plain = found.model;
    plain.epilogue = {};
    std::string way = order_text(found.model);
    way = way.substr(std::min(way.size(), order_text(plain).size()));
    std::string what = words;
    if (way.starts_with("; ")) what = joined(what, way.substr(2));
    if (which == TestedModels::narrow_sums) what = joined(what, kept_words(found.model));
    std::string more = options;
    if (!second.options.empty()) more += (more.empty() ? "" : " ") + second.options;
    tell(std::move(what), found.equal, command(found.core, found.model, more));
  }

  static std::string kept_words(const GemmModel& g) {
    if (g.sum.promote_every == 0) {
      return fmt::format("an accumulator of {}", type_name(g.types.d));
    }
    const int products = g.sum.promote_every * g.k;
    return fmt::format("the sum kept in {} after every {}", type_name(g.sum.promotion),
                       products == 1 ? "product" : fmt::format("{} products", products));
  }

  std::vector<std::size_t> every() const {
    std::vector<std::size_t> all(elements());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  bool explained() const {
    return std::ranges::any_of(out_.told, [](const KernelHypothesis& x) {
      return x.elements > 0 && x.equal == x.elements;
    });
  }

  /// Whether the models under a change are those under another one.
  static bool has_models_of(const Change& x, const Change& y) {
    return x.as_a == y.as_a && x.as_b == y.as_b && x.as_c == y.as_c && x.as_d == y.as_d &&
           x.places.size() == y.places.size() && x.joined_runs == y.joined_runs &&
           x.without_c == y.without_c && x.without_bias == y.without_bias &&
           bool{x.c} == bool{y.c} && x.alpha == y.alpha && x.beta == y.beta;
  }

  void test_change(const PlausibleChange& one, const ChangeFit& before) {
    constexpr std::size_t most_same = 3;
    const Change& change = one.change;
    const Change* best = &change;
    TestedChange found = tested(x_, given_, change, every());
    // What fits as well on a sample may still give more or fewer of all elements, or have models
    // where the other has none.
    std::vector<std::string> same;
    for (std::size_t i = 0; i < std::min(most_same, one.same.size()); ++i) {
      const Change& other = one.same[i];
      const bool by_same_model = !found.right.empty() && has_models_of(other, *best);
      if (!by_same_model && found.equal == elements()) {
        same.push_back(other.words);
        continue;
      }
      TestedChange of_other = by_same_model ? counted_by(given_, other, found.core, found.model)
                                            : tested(x_, given_, other, every());
      if (of_other.equal == found.equal && of_other.equal > 0) same.push_back(other.words);
      if (of_other.equal <= found.equal) continue;
      best = &other;
      found = std::move(of_other);
      same.clear();
    }
    if (found.right.empty()) return;
    const bool near = 3 * one.fit.near >= 2 && one.fit.near > before.near + 0.05;
    const bool is_cause = near || is_cause_of(found.equal - std::min(found.equal, base_equal_),
                                              elements() - base_equal_);
    if (!is_more(found.equal) || !is_cause) return;
    std::string words = best->words;
    for (std::size_t i = 0; i < same.size(); ++i) {
      words += (i == 0 ? "; the same here: " : "; ") + same[i];
    }
    if (one.same.size() > most_same) words += "; …";
    if (found.equal < elements() && near) words += rest_words(*best, found);
    is_near_all_ = is_near_all_ || words.ends_with(within_rounding);
    tell(std::move(words), found.equal, command(found.core, found.model, best->options));
  }

  /// Returns how far off is what a change does not make equal.
  std::string rest_words(const Change& change, const TestedChange& found) const {
    if (!sums_) return "";
    const KernelCase under = changed(given_, change);
    const NearSums sums = near_sums(under);
    std::size_t far = 0, zeros = 0;
    double largest_zero = 0, least_other = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < elements(); ++at) {
      const double size = std::abs(sums.exact[at]);
      if (sums.found[at] != 0) least_other = std::min(least_other, size);
      if (found.right[at] || is_near(sums, at, under.types.d)) continue;
      ++far;
      if (sums.found[at] != 0) continue;
      ++zeros;
      largest_zero = std::max(largest_zero, size);
    }
    if (far == 0) return within_rounding;
    const std::size_t others = elements() - found.equal;
    if (zeros == far && largest_zero < 1.01 * least_other) {
      return fmt::format(
          "; {} of the others hold 0, where the result is below about {:.3g} in "
          "magnitude",
          far, largest_zero);
    }
    if (zeros == far) return fmt::format("; {} of the others hold 0, as by dropout or a mask", far);
    return far == others
               ? fmt::format("; the other {} lie further off than rounding", far)
               : fmt::format("; {} of the other {} lie further off than rounding", far, others);
  }

  /// Whether so many are more than `most` by more than a few that fit by chance, or all.
  bool is_more(std::size_t equal, std::size_t most) const {
    constexpr std::size_t few = 3, least_bits = 20;
    if (equal <= most) return false;
    const std::size_t more = equal - most;
    const auto bits = more * static_cast<std::size_t>(given_.types.d.precision);
    return bits >= least_bits && (equal == elements() || more > std::max(few, elements() / 64));
  }
  bool is_more(std::size_t equal) const { return is_more(equal, base_equal_); }

  /// Elements that are each one of the two neighbours of the exact sum.
  void neighbours() {
    if (20 * base_equal_ > 19 * elements()) return;
    std::string words = neighbours_words(given_, *sums_);
    if (!words.empty()) out_.told.push_back({std::move(words)});
  }

  /// Sums behind a formula whose bits are not known.
  bool by_formula() {
    std::string words = formula_words(given_, *sums_);
    if (words.empty()) return false;
    out_.told.push_back({std::move(words)});
    return true;
  }

  bool uncleared_promotions() {
    std::string words = uncleared_promotion(given_);
    if (words.empty()) return false;
    out_.told.push_back({std::move(words)});
    return true;
  }

  /// Parts of K that were added in an order of its own for each element, or of its lines: only the
  /// former is told, since the latter is (together.h). Returns whether it is either.
  bool unordered() {
    const Format& f = given_.types.d;
    std::size_t near = 0;
    for (std::size_t at = 0; at < elements(); ++at) near += is_near(*sums_, at, f) ? 1U : 0U;
    // Sums of a narrow format that are added in it lie further off.
    if (f == binary32 && 10 * near < 9 * elements()) return false;
    if (10 * base_equal_ > 9 * elements()) return false;
    const auto found = unordered_parts(given_, sums_->exact, x_.cores, end_);
    if (!found) return false;
    if (is_ordered_by_lines()) return true;
    const Core& core = x_.cores[found->core];
    out_.told.push_back(
        {fmt::format(
             "K in {} parts{}, added in {} in an order of its own for each element, as by "
             "atomics: some order gives each of {} elements that were tried; of numbers {}, which "
             "are no such sums, some order gives only {} of {}",
             found->parts, found->part == f ? "" : " of f32", type_name(f), found->tried,
             f == binary32 ? "next to them" : "as far from the exact sum", found->beside,
             found->others),
         0, 0, command(core, core.plain)});
    return true;
  }

  /// Whether each of several models gives whole rows or columns, as of a ring: then the order of a
  /// sum hangs on its place, and is no accident.
  bool is_ordered_by_lines() const {
    const std::vector<TogetherPart> parts = together(x_).parts;
    return !parts.empty() && std::ranges::all_of(parts, [](const TogetherPart& part) {
      return !part.whole_rows.empty() || !part.whole_columns.empty();
    });
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
  bool is_near_all_ = false;  ///< a change was told under which every element is near
  std::string base_model_ = {}, right_lines_ = {};
  KernelHypotheses out_;
};

/// Returns the identification of the operands as they are, or of rounded ones (others) that give
/// most of D while those give less than half as much: then the rounding is no mistake.
const Identification& nearest_operands(const Identification& x) {
  const auto share = [](const Identification& of) {
    if (of.result.rejected.empty()) return 0.0;
    const Verdict& nearest = of.result.rejected[0];
    return static_cast<double>(nearest.equal) /
           static_cast<double>(std::max<std::size_t>(nearest.compared, 1));
  };
  const Identification* best = &x;
  for (const Identification& other : x.others) {
    const double of_other = share(other);
    if (of_other > std::max(0.5, best == &x ? 2 * share(x) : share(*best))) best = &other;
  }
  return *best;
}

}  // namespace

KernelHypotheses hypotheses_of(const Identification& x, double seconds,
                               const SearchProgress& progress) {
  if (!x.result.explaining.empty() || x.runs.empty()) return {};
  const Identification& of = nearest_operands(x);
  if (of.runs.size() > 1) return hypotheses_of_several(of, seconds, progress);
  KernelHypotheses out = HypothesisSearch(of, seconds, progress).run();
  if (!of.searched.rounded) return out;
  for (KernelHypothesis& one : out.told) {
    one.words = fmt::format("operands rounded to tf32, {}, and {}",
                            rounding_name(*of.searched.rounded), one.words);
  }
  return out;
}

}  // namespace binade
