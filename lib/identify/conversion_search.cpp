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
#include <unordered_map>

#include "lib/format/format_spec.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_of_a_place = 3;  // sampled inputs that lie alike
constexpr std::size_t most_sampled = 6000;
constexpr std::uint64_t most_compared = std::uint64_t{1} << 27;  // elements, by all rules
constexpr std::size_t most_differences = 3;

bool pair_is_before(const CodePair& a, const CodePair& b) {
  if (a.input != b.input) return a.input < b.input;
  return a.code != b.code ? a.code < b.code : a.first < b.first;
}

/// Sorts on all threads: pieces, which are then merged.
void sort_pairs(std::vector<CodePair>& pairs) {
  const std::size_t piece = std::max<std::size_t>(pairs.size() / thread_count() + 1, 4096);
  const auto at = [&](std::size_t i) {
    return pairs.begin() + static_cast<std::ptrdiff_t>(std::min(i, pairs.size()));
  };
  parallel_for(pairs.size(), piece, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::sort(at(begin), at(end), &pair_is_before);
  });
  for (std::size_t width = piece; width < pairs.size(); width *= 2) {
    for (std::size_t i = 0; i < pairs.size(); i += 2 * width) {
      std::inplace_merge(at(i), at(i + width), at(i + 2 * width), &pair_is_before);
    }
  }
}

/// Leaves each pair once, with its first element and its count.
void join_equal(std::vector<CodePair>& pairs) {
  sort_pairs(pairs);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CodePair& last = pairs[kept == 0 ? 0 : kept - 1];
    if (kept > 0 && last.input == pairs[i].input && last.code == pairs[i].code) {
      ++last.count;
    } else {
      pairs[kept++] = pairs[i];
    }
  }
  pairs.resize(kept);
}

/// Where a number lies on the grid of a format, as far as roundings ask.
struct GridPlace {
  bool exact = true, above_half = false, tie = false, odd = false;
  bool tiny = false, border = false, beyond = false, cut_to_zero = false;

  unsigned key() const {
    return static_cast<unsigned>(exact) | static_cast<unsigned>(above_half) << 1 |
           static_cast<unsigned>(tie) << 2 | static_cast<unsigned>(odd) << 3 |
           static_cast<unsigned>(tiny) << 4 | static_cast<unsigned>(border) << 5 |
           static_cast<unsigned>(beyond) << 6;
  }
};

GridPlace place_on(const Exact& x, const Format& f) {
  if (x.kind != Kind::finite) return {.cut_to_zero = true};
  const int e = x.exponent + bit_width(x.significand) - 1;
  const int quantum = std::max(e, f.emin()) - f.fraction_bits();
  const Cut c = cut(x, quantum - x.exponent);
  GridPlace out{.exact = c.exact, .above_half = c.above_half, .tie = c.exactly_half};
  out.odd = (c.kept & 1) != 0;
  out.tiny = e < f.emin();
  out.cut_to_zero = c.kept == 0;
  if (e == f.emin() - 1) {
    const Cut unbounded = cut(x, e - f.fraction_bits() - x.exponent);
    out.border = !unbounded.exact && unbounded.kept + 1 == std::uint64_t{1} << f.precision;
  }
  const std::uint64_t most = f.max_significand();
  out.beyond = e > f.emax() || (e == f.emax() && (c.kept > most || (c.kept == most && !c.exact)));
  return out;
}

/// What one thread has seen of the inputs.
struct ReachedPiece {
  Reached reached;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike;
};

void look_at(const CodePair& pair, std::size_t index, const Format& from, ReachedPiece& out) {
  const Exact x = decode(pair.input, from);
  const bool subnormal = is_subnormal(pair.input, from);
  Reached& r = out.reached;
  if (x.kind == Kind::zero) r.zeros += pair.count;
  if (subnormal) r.subnormal += pair.count;
  std::uint64_t key = (x.negative ? 1U : 0U) | (subnormal ? 2U : 0U);
  bool tiny = subnormal;
  for (Reached::Step& step : r.steps) {
    const GridPlace place = place_on(x, step.format);
    if (!place.exact) step.inexact += pair.count;
    if (place.tiny) step.tiny += pair.count;
    if (place.border) step.border += pair.count;
    if (place.beyond) step.beyond[x.negative ? 1 : 0] += pair.count;
    tiny = tiny || place.tiny;
    if (&step == r.steps.data() && x.negative && place.cut_to_zero) r.negative_zero += pair.count;
    key = key << 7 | place.key();
  }
  if (x.negative && tiny) r.negative_tiny += pair.count;
  std::vector<std::size_t>& alike = out.alike[key];
  if (alike.size() < most_of_a_place) alike.push_back(index);
}

void add_reached(Reached& to, const Reached& from) {
  to.subnormal += from.subnormal;
  to.negative_zero += from.negative_zero;
  to.negative_tiny += from.negative_tiny;
  to.zeros += from.zeros;
  for (std::size_t i = 0; i < to.steps.size(); ++i) {
    Reached::Step& step = to.steps[i];
    const Reached::Step& other = from.steps[i];
    step.inexact += other.inexact;
    step.tiny += other.tiny;
    step.border += other.border;
    for (const std::size_t sign : {0, 1}) step.beyond[sign] += other.beyond[sign];
  }
}

/// How a rule compares with the codes of all pairs.
struct ConversionScore {
  std::uint64_t different = 0;             ///< elements
  std::vector<CodeDifference> first = {};  ///< in the order of elements
};

class ConversionSearch {
 public:
  ConversionSearch(const Converted& given, std::vector<CodePair> pairs, ConversionFinding& out)
      : from_(given.from), pairs_(std::move(pairs)), out_(out) {
    look(given);
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
    } else if (!pairs_.empty()) {
      find_nearest();
    }
  }

  const std::vector<CodePair>& pairs() const { return pairs_; }

 private:
  std::uint64_t code_of(const Conversion& how, const CodePair& pair) const {
    return converted(how, pair.input, from_);
  }

  /// Counts what the inputs reach, and takes some that lie alike on all grids into the sample.
  void look(const Converted& given) {
    Reached empty{.steps = {{.format = given.to}}};
    for (const Format& way : conversion_ways(given.from, given.to)) {
      empty.steps.push_back({.format = way});
    }
    std::vector<ReachedPiece> pieces(thread_count(), {empty, {}});
    parallel_for(pairs_.size(), 1 << 14, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      for (std::size_t i = begin; i < end; ++i) look_at(pairs_[i], i, from_, pieces[slot]);
    });
    out_.reached = empty;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike;
    for (ReachedPiece& piece : pieces) {
      add_reached(out_.reached, piece.reached);
      for (auto& [key, indices] : piece.alike) {
        std::vector<std::size_t>& all = alike[key];
        all.insert(all.end(), indices.begin(), indices.end());
      }
    }
    for (auto& [key, indices] : alike) {
      std::ranges::sort(indices);
      indices.resize(std::min(indices.size(), most_of_a_place));
      sample_.insert(sample_.end(), indices.begin(), indices.end());
    }
    // In an order in which neighbours differ, so that wrong rules are contradicted early.
    std::ranges::sort(sample_, {}, [](std::size_t i) { return i * 0x9E3779B97F4A7C15; });
    if (sample_.size() > most_sampled) sample_.resize(most_sampled);
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
  /// than formats and roundings, or in nothing.
  void add_explaining(const Conversion& how) {
    for (const Conversion& other : out_.explaining) {
      const bool alike = std::ranges::equal(
          other.steps, how.steps,
          [](const auto& a, const auto& b) { return a.to == b.to && a.rounding == b.rounding; });
      if (alike) return;
      if (!means_the_same(how, other)) continue;
      out_.same.push_back(how);
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
  for (const Flushed flushed : {Flushed::none, Flushed::after_rounding, Flushed::before_rounding}) {
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

void ConversionSearch::find_nearest() {
  std::vector<Conversion> candidates = conversion_candidates(out_.reached, Ways::one_between);
  const auto share_on = [&](std::size_t most) {
    std::vector<std::uint64_t> equal(candidates.size(), 0);
    const std::size_t n = std::min(most, pairs_.size());
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
    return order;
  };
  for (const auto& [sampled, kept] : {std::pair<std::size_t, std::size_t>{256, 128}, {4096, 6}}) {
    std::vector<Conversion> best;
    for (const std::size_t i : share_on(sampled)) {
      if (best.size() < kept) best.push_back(candidates[i]);
    }
    candidates = std::move(best);
  }
  std::vector<ConversionScore> scores;
  for (const Conversion& how : candidates) scores.push_back(score_of(how));
  const std::uint64_t least = std::ranges::min(scores, {}, &ConversionScore::different).different;
  // A simpler rule that explains nearly as much says more.
  const auto is_simpler = [](const Conversion& a, const Conversion& b) {
    return std::pair{a.steps.size(), oddity(a)} < std::pair{b.steps.size(), oddity(b)};
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (scores[i].different > least + least / 20) continue;
    if (out_.nearest && !is_simpler(candidates[i], *out_.nearest)) continue;
    out_.nearest = candidates[i];
    out_.equal = out_.finite - scores[i].different;
    out_.first = scores[i].first;
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
  ConversionSearch search(given, std::move(pairs), out);
  search.search();
  if (out.finite > 0 && out.explaining.empty()) {
    out.hypotheses = conversion_hypotheses(given, search.pairs(), out.equal);
  }
  return out;
}

}  // namespace binade
