// SPDX-License-Identifier: Apache-2.0
//
// The search: rules are tried on a sample of the inputs that tells roundings, ends of ranges and
// formats apart; what contradicts nothing there is compared on all of them, and an input that
// contradicts it then joins the sample.
#include "lib/identify/conversion_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <utility>

#include "lib/format/format_spec.h"
#include "lib/identify/conversion_sample.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::uint64_t most_compared = std::uint64_t{1} << 27;  // elements, by all rules
constexpr std::size_t most_differences = 3;

/// How a rule compares with the codes of all pairs.
struct ConversionScore {
  std::uint64_t different = 0;             ///< elements
  std::vector<CodeDifference> first = {};  ///< in the order of elements
};

class ConversionSearch {
 public:
  ConversionSearch(const Converted& given, std::vector<CodePair> pairs, ConversionFinding& out)
      : from_(given.from), pairs_(std::move(pairs)), out_(out) {
    ConversionSample sample = sample_of(given, pairs_);
    out_.reached = std::move(sample.reached);
    sample_ = std::move(sample.indices);
  }

  void search() {
    for (const Ways ways : {Ways::one_between, Ways::two_between}) {
      const std::vector<Conversion> candidates = conversion_candidates(out_.reached, ways);
      out_.tried = candidates.size();
      compare(on_sample(candidates));
      if (!out_.explaining.empty() || out_.reached.steps.size() == 1) break;
    }
    if (!out_.explaining.empty()) {
      decide();
    } else {
      find_nearest();
    }
  }

  const std::vector<CodePair>& pairs() const { return pairs_; }

 private:
  std::uint64_t code_of(const Conversion& how, const CodePair& pair) const {
    return converted(how, pair.input, from_);
  }

  /// Returns the candidates that nothing of the sample contradicts.
  std::vector<Conversion> on_sample(const std::vector<Conversion>& candidates) const {
    std::vector<char> fits(candidates.size(), 0);
    parallel_for(candidates.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t c = begin; c < end; ++c) {
        fits[c] = std::ranges::all_of(sample_, [&](std::size_t i) {
          return code_of(candidates[c], pairs_[i]) == pairs_[i].code;
        });
      }
    });
    std::vector<Conversion> out;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (fits[c] != 0) out.push_back(candidates[c]);
    }
    return out;
  }

  /// Returns the index of a pair that contradicts a rule; the number of pairs if none does.
  std::size_t contradiction_of(const Conversion& how) const {
    std::atomic<std::size_t> at = pairs_.size();
    parallel_for(pairs_.size(), 1 << 12, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end && begin < at; ++i) {
        if (code_of(how, pairs_[i]) == pairs_[i].code) continue;
        std::size_t before = at;
        while (i < before && !at.compare_exchange_weak(before, i)) {
        }
        return;
      }
    });
    return at;
  }

  /// Compares the candidates that fit the sample on all pairs.
  void compare(std::vector<Conversion> left) {
    std::uint64_t compared = 0;
    std::size_t next = 0;
    while (next < left.size()) {
      if (compared > most_compared) {
        out_.unchecked = left.size() - next;
        return;
      }
      const Conversion how = left[next++];
      const std::size_t at = contradiction_of(how);
      compared += pairs_.size();
      if (at == pairs_.size()) {
        add_explaining(how);
        continue;
      }
      std::erase_if(left, [&, seen = std::size_t{0}](const Conversion& other) mutable {
        return seen++ >= next && code_of(other, pairs_[at]) != pairs_[at].code;
      });
    }
  }

  /// Adds a rule that explains every code, unless it differs from one that does in other attributes
  /// than formats and roundings, or in words alone.
  void add_explaining(const Conversion& how) {
    const auto is_alike = [&](const Conversion& other) {
      return std::ranges::equal(other.steps, how.steps, [](const auto& a, const auto& b) {
        return a.to == b.to && a.rounding == b.rounding;
      });
    };
    if (std::ranges::any_of(out_.explaining, is_alike)) return;
    if (std::ranges::any_of(out_.same, is_alike)) return;
    for (const Conversion& other : out_.explaining) {
      Conversion like = how;
      like.flush_operands = other.flush_operands;
      like.signed_nan = other.signed_nan;
      like.positive_zero = other.positive_zero;
      like.steps.back().overflow = other.steps.back().overflow;
      like.steps.back().flushed = other.steps.back().flushed;
      if (!means_the_same(like, other)) continue;
      if (other == out_.explaining[0]) out_.same.push_back(like);
      return;
    }
    out_.explaining.push_back(how);
  }

  /// Returns whether two rules give the same codes for numbers that lie in every way that the cuts
  /// of their formats tell apart, at the ends of the ranges too.
  bool means_the_same(const Conversion& a, const Conversion& b) {
    if (probes_.empty()) {
      std::vector<Format> grids;
      for (const Reached::Step& step : out_.reached.steps) grids.push_back(step.format);
      probes_ = conversion_probes(from_, grids);
    }
    return std::ranges::all_of(probes_, [&](std::uint64_t bits) {
      return converted(a, bits, from_) == converted(b, bits, from_);
    });
  }

  /// Counts all elements that contradict a rule.
  ConversionScore score_of(const Conversion& how) const {
    std::vector<ConversionScore> pieces(thread_count());
    parallel_for(pairs_.size(), 1 << 14, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      ConversionScore& mine = pieces[slot];
      for (std::size_t i = begin; i < end; ++i) {
        const CodePair& pair = pairs_[i];
        const std::uint64_t code = code_of(how, pair);
        if (code == pair.code) continue;
        mine.different += pair.count;
        add_first(mine.first, {pair.first, pair.input, code, pair.code});
      }
    });
    ConversionScore out;
    for (const ConversionScore& piece : pieces) {
      out.different += piece.different;
      for (const CodeDifference& x : piece.first) add_first(out.first, x);
    }
    return out;
  }

  static void add_first(std::vector<CodeDifference>& list, const CodeDifference& x) {
    if (list.size() == most_differences && list.back().element < x.element) return;
    list.insert(std::ranges::upper_bound(list, x.element, {}, &CodeDifference::element), x);
    if (list.size() > most_differences) list.pop_back();
  }

  /// Tells of each attribute of the simplest rule which inputs decide it.
  void decide();
  /// `open` says why nothing decides the attribute; with `is_open_if_same` it does so only if no
  /// other value gives another code.
  void add_attribute(const std::string& name, const std::string& value, const std::string& open,
                     const std::vector<std::pair<std::string, Conversion>>& others,
                     bool is_open_if_same = false);
  void decide_step(const Conversion& how, std::size_t at);
  void find_nearest();
  std::vector<Conversion> best_of(const std::vector<Conversion>& candidates, std::size_t sampled,
                                  std::size_t kept) const;

  Format from_;
  std::vector<CodePair> pairs_;
  ConversionFinding& out_;
  std::vector<std::size_t> sample_;
  std::vector<std::uint64_t> probes_;
};

void ConversionSearch::add_attribute(const std::string& name, const std::string& value,
                                     const std::string& open,
                                     const std::vector<std::pair<std::string, Conversion>>& others,
                                     bool is_open_if_same) {
  DecidedAttribute attribute{.name = name, .value = value, .open = open};
  for (const auto& [words, other] : others) {
    if (!open.empty() && !is_open_if_same) break;
    const ConversionScore score = score_of(other);
    ExcludedChoice choice{.words = words, .elements = score.different};
    if (!score.first.empty()) choice.first = score.first[0];
    attribute.others.push_back(choice);
  }
  const bool decided =
      std::ranges::any_of(attribute.others, [](const ExcludedChoice& x) { return x.elements > 0; });
  if (is_open_if_same && decided) attribute.open.clear();
  if (!attribute.open.empty()) attribute.others.clear();
  std::ranges::stable_sort(attribute.others, {}, &ExcludedChoice::elements);
  out_.decided.push_back(std::move(attribute));
}

/// Tells of the rounding, the overflow and the subnormal results of one step.
void ConversionSearch::decide_step(const Conversion& how, std::size_t at) {
  const ConversionStep& step = how.steps[at];
  const std::string to = how.steps.size() == 1 ? "" : " to " + spec_of(step.to);
  // A step before this one can bring numbers to it that are not the inputs.
  const auto reaches = [&](auto count) {
    for (std::size_t i = 0; i <= at; ++i) {
      const auto reached =
          std::ranges::find(out_.reached.steps, how.steps[i].to, &Reached::Step::format);
      if (count(*reached) > 0) return true;
    }
    return false;
  };
  const auto with = [&](const ConversionStep& other) {
    Conversion out = how;
    out.steps[at] = other;
    return out;
  };
  std::vector<std::pair<std::string, Conversion>> others;
  for (const NamedRounding& row : roundings) {
    if (row.rounding == Rounding::stochastic || row.rounding == step.rounding) continue;
    ConversionStep other = step;
    other.rounding = row.rounding;
    others.emplace_back(row.name, with(other));
  }
  const bool inexact = at > 0 || reaches([](const Reached::Step& x) { return x.inexact; });
  add_attribute("rounding" + to, std::string(rounding_name(step.rounding)),
                inexact ? "" : "every input is a number of " + spec_of(step.to), others);

  others.clear();
  Conversion inner = how;
  for (const Overflow overflow : {Overflow::by_rounding, Overflow::largest, Overflow::outward}) {
    for (const bool signed_nan : {true, false}) {
      ConversionStep other = step;
      other.overflow = overflow;
      inner = with(other);
      inner.signed_nan = signed_nan;
      const std::string words = overflow_text(inner, other);
      const bool known =
          words == overflow_text(how, step) ||
          std::ranges::any_of(others, [&](const auto& x) { return x.first == words; });
      if (!known) others.emplace_back(words, inner);
    }
  }
  const bool beyond = reaches([](const Reached::Step& x) { return x.beyond[0] + x.beyond[1]; });
  if (step.to.has_nan()) {
    add_attribute("overflow" + to, overflow_text(how, step), beyond ? "" : "no input overflows",
                  others);
  }
  others.clear();
  for (const Flushed flushed : {Flushed::none, Flushed::after_rounding, Flushed::before_rounding,
                                Flushed::subnormal_codes}) {
    ConversionStep other = step;
    other.flushed = flushed;
    if (flushed != step.flushed) others.emplace_back(flushed_text(flushed), with(other));
  }
  if (!step.to.has_zero || !step.to.has_subnormals()) return;
  const bool tiny = reaches([](const Reached::Step& x) { return x.tiny; });
  add_attribute("subnormal results" + to, flushed_text(step.flushed),
                tiny ? "" : "no input is below the smallest normal number", others);
}

void ConversionSearch::decide() {
  const Conversion how = out_.explaining[0];
  std::vector<std::pair<std::string, Conversion>> others;
  for (std::size_t at = 0; at < how.steps.size(); ++at) decide_step(how, at);
  if (how.steps.size() == 1) {
    for (const Reached::Step& way : std::span(out_.reached.steps).subspan(1)) {
      if (way.inexact == 0) continue;
      Conversion other = how;
      other.steps.insert(other.steps.begin(), {.to = way.format});
      others.emplace_back("by way of " + spec_of(way.format), other);
    }
    const char* open = out_.reached.steps.size() > 1
                           ? "every input is a number of each format that may lie between"
                           : "no format lies between";
    add_attribute("way", "direct", others.empty() ? open : "", others);
  } else {
    for (std::size_t at = 0; at + 1 < how.steps.size(); ++at) {
      Conversion other = how;
      other.steps.erase(other.steps.begin() + static_cast<std::ptrdiff_t>(at));
      others.emplace_back("without " + spec_of(how.steps[at].to), other);
    }
    std::string way;
    for (std::size_t at = 0; at + 1 < how.steps.size(); ++at) {
      way += (at == 0 ? "by way of " : " and ") + spec_of(how.steps[at].to);
    }
    add_attribute("way", way, "", others);
  }
  const Format& to = how.steps.back().to;
  Conversion other = how;
  other.flush_operands = !how.flush_operands;
  if (from_.has_subnormals()) {
    add_attribute("subnormal operands",
                  how.flush_operands ? "taken for zeros" : "taken as they are",
                  out_.reached.subnormal > 0 ? "" : "no input is subnormal",
                  {{how.flush_operands ? "taken as they are" : "taken for zeros", other}});
  }
  other = how;
  other.positive_zero = !how.positive_zero;
  if (to.has_negative_zero()) {
    add_attribute("-0", how.positive_zero ? "written as +0" : "keeps its sign", "no result is -0",
                  {{how.positive_zero ? "keeps its sign" : "written as +0", other}}, true);
  }
}

/// Returns those of the candidates that explain most on some of the pairs, most first.
std::vector<Conversion> ConversionSearch::best_of(const std::vector<Conversion>& candidates,
                                                  std::size_t sampled, std::size_t kept) const {
  std::vector<std::uint64_t> equal(candidates.size(), 0);
  const std::size_t n = std::min(sampled, pairs_.size());
  parallel_for(candidates.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t c = begin; c < end; ++c) {
      for (std::size_t k = 0; k < n; ++k) {
        const CodePair& pair = pairs_[k * pairs_.size() / n];
        if (code_of(candidates[c], pair) == pair.code) equal[c] += pair.count;
      }
    }
  });
  std::vector<std::size_t> order(candidates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return equal[i]; });
  std::vector<Conversion> out;
  for (const std::size_t i : order) {
    if (out.size() < kept) out.push_back(candidates[i]);
  }
  return out;
}

void ConversionSearch::find_nearest() {
  const std::vector<Conversion> all = conversion_candidates(out_.reached, Ways::one_between);
  for (const std::size_t steps : {std::size_t{1}, std::size_t{2}}) {
    std::vector<Conversion> candidates;
    std::ranges::copy_if(all, std::back_inserter(candidates),
                         [&](const Conversion& x) { return x.steps.size() == steps; });
    if (candidates.empty()) continue;
    candidates = best_of(best_of(candidates, 256, 128), 4096, 6);
    std::vector<ConversionScore> scores;
    for (const Conversion& how : candidates) scores.push_back(score_of(how));
    // A simpler rule that explains nearly as much says more.
    const std::uint64_t least = std::ranges::min(scores, {}, &ConversionScore::different).different;
    std::size_t best = candidates.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (scores[i].different > least + least / 20) continue;
      if (best == candidates.size() || oddity(candidates[i]) < oddity(candidates[best])) best = i;
    }
    if (out_.nearest && scores[best].different > (out_.finite - out_.equal) / 5 * 4) continue;
    out_.nearest = candidates[best];
    out_.equal = out_.finite - scores[best].different;
    out_.first = scores[best].first;
  }
}

}  // namespace

ConversionConclusion ConversionFinding::conclusion() const {
  using enum ConversionConclusion;
  const auto open = [](const SpecialCodes& x) { return x.elements > 0 && x.rules.empty(); };
  if ((finite > 0 && explaining.empty()) || open(infinities) || open(nans)) return none;
  const bool rounded = !reached.steps.empty() && reached.steps[0].inexact > 0;
  return explaining.size() == 1 && unchecked == 0 && rounded ? unique : several;
}

ConversionFinding identify_conversion(const Converted& given) {
  ConversionFinding out{.elements = given.inputs.size()};
  std::vector<CodePair> pairs;
  std::vector<std::uint64_t> infinities, nans;
  pairs.reserve(given.inputs.size());
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    const Kind kind = kind_of(fields_of(given.inputs[i], given.from), given.from);
    if (kind == Kind::nan) {
      nans.push_back(i);
    } else if (kind == Kind::infinite) {
      infinities.push_back(i);
    } else {
      pairs.push_back({given.inputs[i], given.codes[i], i, 1});
    }
  }
  out.finite = pairs.size();
  join_equal(pairs);
  out.infinities = codes_of_infinities(given, infinities);
  out.nans = codes_of_nans(given, nans);
  if (pairs.empty()) return out;
  ConversionSearch search(given, std::move(pairs), out);
  search.search();
  if (out.explaining.empty()) {
    out.hypotheses = conversion_hypotheses(given, search.pairs(), out.equal);
  }
  return out;
}

}  // namespace binade
