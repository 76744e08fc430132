// SPDX-License-Identifier: Apache-2.0
//
// Numbers say which changes are plausible (plausible.h); the model counts elements under each.
#include "lib/identify/known_model.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "emulate/gemm.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/changed_part.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/met_runs.h"
#include "lib/identify/misplaced.h"
#include "lib/identify/plausible.h"
#include "lib/identify/search.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_hints = 3, most_changes = 8;
constexpr std::size_t most_counted = 1024;  // elements on which changes are counted

/// Whether the model says what a change gives: of the same types, with K as a whole where its parts
/// are cut at certain places.
bool is_known_under(const GemmModel& g, const Change& x) {
  const bool same_types = !x.as_a && !x.as_b && !x.as_c && !x.as_d;
  const bool is_promoted = g.sum.promote_every > 0 && g.sum.scaling.share > 0;
  return same_types && (x.places.empty() || g.sum.splits[0].parts == 1) &&
         (x.joined_runs == 1 || is_promoted);
}

/// The model of what a change gives.
GemmModel model_under(GemmModel g, const Change& x) {
  g.epilogue.alpha *= x.alpha;
  g.epilogue.beta *= x.beta;
  if (x.joined_runs == 1) return g;
  g.sum.promote_every *= static_cast<int>(x.joined_runs);
  g.sum.scaling.share *= static_cast<int>(x.joined_runs);
  return g;
}

std::size_t count_equal(const KernelCase& whole, const GemmModel& g) {
  const std::vector<std::size_t> some = spread_places(whole.run.size(), most_counted);
  std::vector<char> equal(some.size());
  parallel_for(some.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = some[i];
      const std::uint64_t d = gemm_element(g, whole.run.element(at));
      equal[i] = is_same_result(d, whole.run.d[at], g.epilogue.out, any_nan_fits(g)) ? 1 : 0;
    }
  });
  return static_cast<std::size_t>(std::ranges::count(equal, 1));
}

/// What is wrong with some of the elements alone, where the model gives the others.
std::optional<KnownModelHint> hint_of_part(const KernelCase& given, const GemmModel& model) {
  constexpr std::size_t least_wrong = 8;
  constexpr double most_work = 1 << 30;
  const KernelRun& run = given.run;
  const std::size_t all = run.size();
  if (static_cast<double>(all) * static_cast<double>(run.k) > most_work) return std::nullopt;
  const std::vector<std::uint64_t> d = gemm(model, operands_of(run));
  const auto is_right = [&](const std::vector<std::uint64_t>& by, std::size_t at) {
    return is_same_result(by[at], run.d[at], model.epilogue.out, any_nan_fits(model));
  };
  std::vector<std::size_t> wrong;
  for (std::size_t at = 0; at < all; ++at) {
    if (!is_right(d, at)) wrong.push_back(at);
  }
  if (wrong.size() < least_wrong || 3 * wrong.size() > 2 * all) return std::nullopt;
  const std::size_t right = all - wrong.size();
  if (MisplacedBits found = misplaced(given, wrong, d); !found.words.empty()) {
    return KnownModelHint{std::move(found.words), right + found.elements, all};
  }
  const std::optional<PartChange> best = change_of_part(given, wrong, model);
  if (!best || !is_known_under(model, best->change)) return std::nullopt;
  const std::vector<std::uint64_t> under =
      gemm(model_under(model, best->change), operands_of(changed(given, best->change).run));
  const auto equal = static_cast<std::size_t>(
      std::ranges::count_if(wrong, [&](std::size_t at) { return is_right(under, at); }));
  if (!is_cause_of(equal, wrong.size())) return std::nullopt;
  return KnownModelHint{part_words(given, wrong, d, best->change, equal), right + equal, all};
}

}  // namespace

std::vector<KnownModelHint> known_model_hints(const KernelCase& given, const GemmModel& model) {
  if (given.run.dots || is_smooth(model.epilogue.activation)) return {};
  // Zeros everywhere fit many mistakes.
  const auto is_zero = [&](std::uint64_t d) { return number_in(d, given.types.d) == 0; };
  if (std::ranges::all_of(given.run.d, is_zero)) return {};
  const std::size_t tried = std::min(most_counted, given.run.size());
  const std::size_t before = count_equal(given, model);
  std::vector<KnownModelHint> out;
  std::size_t counted = 0;
  for (const PlausibleChange& one : plausible_changes(given).nearest) {
    std::vector<const Change*> alike{&one.change};
    for (const Change& same : one.same) alike.push_back(&same);
    KnownModelHint best{"", before + tried / 64, tried};
    for (const Change* const change : alike) {
      if (counted == most_changes || best.equal == tried) break;
      if (!is_known_under(model, *change)) continue;
      ++counted;
      const std::size_t equal = count_equal(changed(given, *change), model_under(model, *change));
      if (2 * equal >= tried && equal > best.equal) best = {change->words, equal, tried};
    }
    if (!best.words.empty()) out.push_back(std::move(best));
  }
  std::ranges::stable_sort(out, std::greater<>{}, &KnownModelHint::equal);
  // What makes every element equal leaves nothing to the others.
  if (!out.empty() && out[0].equal == tried) {
    out.resize(1);
    return out;
  }
  if (auto of_part = hint_of_part(given, model)) {
    out.insert(out.begin(), std::move(*of_part));
  } else if (std::string words = uncleared_promotion(given); !words.empty()) {
    out.push_back({std::move(words), 0, 0});
  }
  if (out.size() > most_hints) out.resize(most_hints);
  return out;
}

}  // namespace binade
