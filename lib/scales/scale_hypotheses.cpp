// SPDX-License-Identifier: Apache-2.0
//
// What may have happened to scales and codes that no rule explains: suspicions of scales first,
// then of codes, the best on all elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "lib/scales/scale_text.h"
#include "lib/scales/suspected_codes.h"
#include "lib/scales/suspected_rows.h"
#include "lib/scales/suspected_scales.h"
#include "lib/scales/tensor_scales.h"
#include "lib/scales/told_of_nearest.h"
#include "lib/scales/unwritten.h"
#include "lib/scales/zero_blocks.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

double share_of_codes(const SuspectedCodes& x) { return x.elements.share(); }

template <class Suspect>
void keep_best(std::vector<Suspect>& all, std::size_t most, const auto& share) {
  std::ranges::stable_sort(all,
                           [&](const Suspect& a, const Suspect& b) { return share(a) > share(b); });
  if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
}

constexpr std::size_t most_told = 2;

/// Whether a second reason makes half of what a first one leaves unequal equal: what is of a few
/// by chance is no reason.
bool explains_rest(const std::vector<bool>& left, const std::vector<bool>& unequal) {
  std::uint64_t of = 0, still = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    of += left[i] ? 1 : 0;
    still += left[i] && unequal[i] ? 1 : 0;
  }
  return 2 * still <= of;
}

/// Whether another rounding, or small numbers that are flushed, makes some of few unequal codes
/// equal, as it does where numbers were slightly other ones: where nearly all are equal without it,
/// it is told only if all are with it.
bool is_chance_of_rounding(const SuspectedCodes& x, std::uint64_t equal_without) {
  const bool rounds = x.away || x.between || x.to.attributes.rounding != Rounding::ties_to_even;
  const bool flushes = x.subnormals != Subnormals::kept || x.to.attributes.flush_results;
  return (rounds || flushes) && !x.elements.is_whole() && 20 * equal_without >= 19 * x.elements.of;
}

/// Puts first the plainest of those that leave less than four times as much unequal as the best, or
/// that are a few codes behind it: a change may make some more equal by chance.
void put_plainest_first(std::vector<SuspectedCodes>& told) {
  if (told.empty()) return;
  const auto left = [](const SuspectedCodes& x) { return x.elements.of - x.elements.equal; };
  constexpr std::uint64_t few = 8;
  const std::uint64_t least = left(told[0]),
                      most = least == 0 ? 0 : std::max(4 * least - 1, least + few - 1);
  auto plainest = told.begin();
  for (auto x = told.begin(); x != told.end(); ++x) {
    if (left(*x) <= most && x->changes < plainest->changes) plainest = x;
  }
  std::rotate(told.begin(), plainest, plainest + 1);
}

/// The readings whose codes are tried: those for which scales, perhaps changed, and codes speak
/// most, and at least half as much as for the first.
std::vector<std::size_t> readings_to_try(std::span<const ReadingEvidence> evidence,
                                         std::span<const ScaleRuleFit> nearest,
                                         std::span<const SuspectedScales> suspected) {
  std::vector<double> scales(evidence.size());
  const auto take = [&](const auto& x) {
    scales[x.reading] = std::max(scales[x.reading], x.speaks());
  };
  for (const ScaleRuleFit& x : nearest) take(x);
  for (const SuspectedScales& x : suspected) take(x);
  const auto speaks = [&](std::size_t i) { return evidence[i].codes + scales[i]; };
  std::vector<std::size_t> out(evidence.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::stable_sort(out, std::greater(), speaks);
  out.resize(std::min<std::size_t>(out.size(), 3));
  std::erase_if(out, [&](std::size_t i) { return 2 * speaks(i) < speaks(out[0]); });
  return out;
}

/// The order of scales, and the rule, that are told of a reading before others.
struct ReadingFirst {
  std::size_t order = 0;
  ScalesFirst scales = {};
};

ReadingFirst first_of_reading(const ScaleFinding& finding,
                              const std::optional<SuspectedRule>& suspected,
                              std::span<const ReadingEvidence> evidence, std::size_t reading) {
  if (suspected && suspected->reading == reading) {
    return {suspected->order, {suspected->rule, suspected->tensor}};
  }
  ReadingFirst out{.order = evidence[reading].order};
  for (const ScaleRuleFit& fit : finding.nearest) {
    if (fit.reading != reading) continue;
    out.scales.rule = fit.rule;
    // Without codes that speak for an order, the scales do.
    if (evidence[reading].under_stored == 0) out.order = fit.order;
    break;
  }
  return out;
}

/// What may have been done to the numbers before they were quantized.
struct NumbersChange {
  NumbersTaken taken = NumbersTaken::as_given;
  RowsMoved rows = {};

  bool is_plain() const { return taken == NumbersTaken::as_given && rows.is_plain(); }
  friend bool operator==(const NumbersChange&, const NumbersChange&) = default;
};

/// The changes of numbers under which codes are tried, that of suspected scales first.
std::vector<NumbersChange> changes_to_try(const Quantized& given,
                                          std::span<const SuspectedScales> scales,
                                          const std::optional<SuspectedRule>& first,
                                          std::size_t reading) {
  std::vector<NumbersChange> out;
  const auto add = [&](const NumbersChange& x) {
    if (std::ranges::find(out, x) == out.end()) out.push_back(x);
  };
  for (const SuspectedScales& x : scales) {
    const bool is_first = first && first->reading == reading && x.reading == reading &&
                          x.order == first->order && 10 * x.scales.equal >= 9 * x.scales.of;
    if (is_first) add({x.taken, x.rows});
  }
  // Codes of zeros and of numbers above have no signs.
  const bool has_signs = std::ranges::any_of(
      given.codes.bytes, [](std::byte x) { return (x & std::byte{0x80}) != std::byte{0}; });
  for (const NumbersTaken taken : ways_of_numbers(given.x)) {
    if (taken != NumbersTaken::positive || !has_signs) add({taken, {}});
  }
  // Codes alone may be moved by a row.
  for (const std::int64_t by : {1, -1}) {
    add({NumbersTaken::as_given, {.by = by, .words = moved_words(by)}});
  }
  return out;
}

/// Whether codes are so unlike those that were tried that they may be of other numbers.
bool may_be_moved(const NumbersChange& change, const Quantized& given,
                  std::span<const SuspectedCodes> told) {
  // Rows that are known by their codes need no more.
  if (change.rows.from != nullptr || change.rows.columns != nullptr) return true;
  if (change.taken != NumbersTaken::as_given || told.empty()) return true;
  const auto zeros = static_cast<std::uint64_t>(std::ranges::count(given.x, 0.0F));
  return std::ranges::all_of(told, [&](const SuspectedCodes& x) {
    ScaleAgreement all = x.elements;
    all.zeros = std::min(all.equal, zeros);
    return all.speaks() < 0.5;
  });
}

/// Whether a hypothesis makes nearly all scales equal, beside which another one would be noise.
bool is_explained_enough(const ScaleFinding& finding) {
  return std::ranges::any_of(finding.hypotheses, [](const ScaleHypothesis& x) {
    return x.part == ExplainedPart::scales && 10 * x.equal >= 9 * x.of;
  });
}

/// A mark for each code that is left unequal, in the order of storage.
std::vector<bool> unequal_under(const Quantized& given, const ScaleFinding& finding,
                                SuspectedCodes x) {
  const ReadingWork work(given, finding.readings[x.reading], x.taken, x.rows);
  std::uint64_t tried = 0;
  std::vector<SuspectedCodes> none;
  const CodeSuspicions suspicions(work, x.reading, x.order, x.taken, x.rows, {x.of.rule, {}}, tried,
                                  none);
  std::vector<std::uint8_t> marks(given.x.size());
  suspicions.count_all(x, &marks);
  return {marks.begin(), marks.end()};
}

/// Adds readings of the same elements in blocks along another axis, in which codes may be a rule's
/// where scales are not.
void add_other_blocks(const ScaleFinding& finding, std::vector<std::size_t>& readings) {
  constexpr std::size_t most = 3;
  const ScaleReading& first = finding.readings[readings[0]];
  std::size_t added = 0;
  for (std::size_t i = 0; i < finding.readings.size() && added < most; ++i) {
    const ScaleReading& x = finding.readings[i];
    if (std::ranges::find(readings, i) != readings.end() ||
        x.format.format != first.format.format) {
      continue;
    }
    readings.push_back(i);
    ++added;
  }
}

/// The rules under which a suspicion gives the same, that of x first.
std::string names_of_same(std::span<const SuspectedScales> all, const SuspectedScales& x) {
  std::vector<std::string_view> out{x.rule->name};
  for (const SuspectedScales& other : all) {
    const bool same = other.reading == x.reading && other.order == x.order &&
                      other.words == x.words && other.scales == x.scales;
    if (same && std::ranges::find(out, other.rule->name) == out.end()) {
      out.push_back(other.rule->name);
    }
  }
  constexpr std::size_t most_named = 4;
  const bool are_more = out.size() > most_named;
  out.resize(std::min(out.size(), most_named));
  return listed(out) + (are_more ? " …" : "");
}

/// Whether scales are of amaxes that come near to many others.
bool is_of_other_numbers(const SuspectedScales& x) {
  constexpr std::array<std::string_view, 3> kinds{"amax_of_several", "amaxes_positive",
                                                  "numbers_positive"};
  return std::ranges::find(kinds, x.kind) != kinds.end();
}

}  // namespace

std::optional<SuspectedRule> add_scale_hypotheses(const Quantized& given,
                                                  std::span<const ReadingEvidence> evidence,
                                                  std::span<const ScaleRuleFit> all,
                                                  ScaleFinding& finding) {
  std::vector<SuspectedScales> scales;
  double most_codes = 0;
  for (const ReadingEvidence& x : evidence) most_codes = std::max(most_codes, x.codes);
  // Scales of a rule are no reason to look no further where codes speak for another reading.
  const bool are_whole = std::ranges::any_of(finding.nearest, [&](const ScaleRuleFit& fit) {
    return fit.is_whole_so_far() && evidence[fit.reading].codes >= most_codes - chance;
  });
  for (std::size_t i = 0; !are_whole && i < finding.readings.size(); ++i) {
    try_scales_of(given, finding.readings[i], i, scales);
  }
  // Numbers that something gives are plainer than factors that are measured.
  std::ranges::stable_partition(scales, [](const SuspectedScales& x) { return !x.is_measured; });
  // So are scales under that of the tensor as it is stored.
  std::ranges::stable_partition(scales, [&](const SuspectedScales& x) {
    return !given.tensor || x.tensor.is_near_stored ||
           part_that_is(x.tensor.scale, *given.tensor).has_value();
  });
  keep_best(scales, 12,
            [&](const SuspectedScales& x) { return x.speaks() + evidence[x.reading].codes; });
  std::uint64_t codes_equal = 0;
  tell_nans(given, finding);
  tell_zero_blocks(given, finding);
  tell_constant(given, finding);
  tell_unwritten_scales(given, finding);
  for (const ScaleRuleFit& fit : finding.nearest) {
    codes_equal = std::max(codes_equal, fit.elements.equal);
  }
  // What nearest rules make equal, but for those of readings for which codes speak less.
  const auto scales_equal = [&](std::size_t reading, std::size_t order, const ScaleAgreement& x) {
    std::uint64_t out = 0;
    for (const ScaleRuleFit& fit : finding.nearest) {
      const bool counts = evidence[fit.reading].codes >= evidence[reading].codes - chance;
      if (counts) out = std::max(out, fit.scales.equal);
    }
    // One code for all would make so many equal.
    if (x.is_whole()) return out;
    return std::max(out, most_of_one(codes_of_scales(given, finding.readings[reading], order)));
  };
  tell_other_form(given, finding);
  std::optional<SuspectedRule> first;
  std::vector<bool> left_unequal;  // by the first that is told
  for (const SuspectedScales& x : scales) {
    if (finding.hypotheses.size() == most_told) break;
    if (first && (first->reading != x.reading || first->order != x.order)) continue;
    if (first && (is_explained_enough(finding) || !explains_rest(left_unequal, x.unequal)))
      continue;
    // What a rule gives without a change needs none, whatever blocks its scales are of.
    const auto needs_none = [&](const ScaleRuleFit& fit) {
      const bool is_its = fit.reading == x.reading && fit.order == x.order;
      const bool is_of_others =
          fit.speaks() > 0.9 && evidence[fit.reading].codes >= evidence[x.reading].codes - chance;
      return fit.tensor.fit != TensorScaleFit::imagined && fit.speaks() >= x.speaks() &&
             (is_its || is_of_others);
    };
    if (std::ranges::any_of(all, needs_none)) continue;
    const std::uint64_t base = std::min(scales_equal(x.reading, x.order, x.scales), x.scales.of);
    // Scales of few bits may be equal by chance, a few of them.
    constexpr std::uint64_t few = 4;
    const bool is_narrow = finding.readings[x.reading].format.format.scale.bits() <= 8;
    const bool is_stored =
        given.tensor && !x.is_measured && part_that_is(x.tensor.scale, *given.tensor).has_value();
    if (is_narrow && !is_stored && x.scales.equal < base + few) continue;
    const ReadingWork work(given, finding.readings[x.reading], NumbersTaken::as_given);
    // An amax of other numbers gives all scales but those that something else changed.
    if (is_of_other_numbers(x) && 100 * (x.scales.of - x.scales.equal) > x.scales.of) continue;
    const std::string words =
        fmt::format("{}: {}{} ({})", names_of_same(scales, x), x.words,
                    x.is_freed ? ", but in blocks of zeros" : "", reading_words(work, x.order));
    const bool is_told = tell(finding,
                              {words, ExplainedPart::scales, x.scales.equal, x.scales.of, x.kind,
                               x.reading, x.order, x.rule, x.factor},
                              base);
    if (is_told && !first) {
      first = {x.reading, x.order, x.rule, x.tensor.scale};
      left_unequal = x.unequal;
    }
  }
  std::vector<std::size_t> readings = readings_to_try(evidence, finding.nearest, scales);
  const std::size_t plain_readings = readings.size();
  add_other_blocks(finding, readings);
  std::vector<SuspectedCodes> told;
  ScaleHypothesis drawn{.words = "", .part = ExplainedPart::codes, .kind = "stochastic"};
  const auto is_found = [&] {
    return std::ranges::any_of(told, [](const SuspectedCodes& x) { return x.elements.is_whole(); });
  };
  const auto& bytes = given.codes.bytes;
  // Any way of making codes that gives this one would fit.
  const bool says_nothing = tell_zero_codes(given, finding) ||
                            std::ranges::all_of(bytes, [&](std::byte x) { return x == bytes[0]; });
  for (std::size_t n = 0; n < readings.size(); ++n) {
    const std::size_t i = readings[n];
    const bool is_other = n >= plain_readings;
    if (says_nothing) break;
    const ReadingFirst of = first_of_reading(finding, first, evidence, i);
    std::vector<NumbersChange> changes = changes_to_try(given, scales, first, i);
    if (of.scales.rule != nullptr && !is_other && !is_found()) {
      const ReadingWork work(given, finding.readings[i], NumbersTaken::as_given);
      auto rows = rows_of_codes(work, *of.scales.rule);
      if (rows) changes.push_back({NumbersTaken::as_given, std::move(*rows)});
    }
    for (const NumbersChange& change : changes) {
      if (is_found() || (!change.rows.is_plain() && !may_be_moved(change, given, told))) continue;
      if (is_other && !change.is_plain()) continue;
      const ReadingWork work(given, finding.readings[i], change.taken, change.rows);
      std::vector<SuspectedCodes> codes;
      const CodeSuspicions suspicions(work, i, of.order, change.taken, change.rows, of.scales,
                                      finding.codings, codes);
      if (!is_other) suspicions.try_stored();
      suspicions.try_made(scales);
      if (change.is_plain() && !is_other) suspicions.try_unrounded();
      // The stored scales with the step of the rule that is told first.
      SuspectedCodes plain = codes.empty() ? SuspectedCodes{} : codes[0];
      keep_best(codes, 4, share_of_codes);
      for (SuspectedCodes& x : codes) suspicions.count_all(x);
      keep_best(codes, 4, share_of_codes);
      for (std::size_t best = 0; change.is_plain() && best < std::min<std::size_t>(codes.size(), 2);
           ++best) {
        for (auto&& changed :
             {suspicions.refined(codes[best]), suspicions.partly_exchanged(codes[best])}) {
          if (changed) codes.push_back(changed.value());
        }
      }
      if (change.is_plain() && !codes.empty() && !codes[0].elements.is_whole()) {
        for (const SuspectedCodes* x : {&std::as_const(plain), &std::as_const(codes[0])}) {
          if (drawn.equal == given.x.size()) break;
          const std::uint64_t neighbours = suspicions.drawn_neighbours(*x);
          if (neighbours <= drawn.equal) continue;
          drawn.words =
              "each code is one of the two neighbours of its number, as stochastic rounding leaves "
              "them: " +
              x->of_any_rounding;
          drawn.equal = neighbours;
          drawn.of = given.x.size();
          drawn.reading = i;
          drawn.order = of.order;
          drawn.rule = x->of.rule;
        }
      }
      for (SuspectedCodes& x : codes) told.push_back(std::move(x));
      keep_best(told, told.size(), share_of_codes);
      put_plainest_first(told);
      told.resize(std::min<std::size_t>(told.size(), 8));
    }
  }
  keep_best(told, told.size(), share_of_codes);
  put_plainest_first(told);
  if (!told.empty() && !told[0].elements.is_whole() && 2 * told[0].elements.share() > 1) {
    tell_unwritten_codes(given, told[0], unequal_under(given, finding, told[0]), codes_equal,
                         finding);
  }
  const SuspectedCodes* first_codes = nullptr;
  for (const SuspectedCodes& x : told) {
    if (is_chance_of_rounding(x, codes_equal)) continue;
    constexpr std::uint64_t least_codes = 256;  // of fewer, some of many ways give most
    if (x.elements.of < least_codes && !x.elements.is_whole()) continue;
    if (first_codes != nullptr && (x.of.kind == first_codes->of.kind ||
                                   !explains_rest(unequal_under(given, finding, *first_codes),
                                                  unequal_under(given, finding, x)))) {
      continue;
    }
    const bool is_told = tell(finding,
                              {x.words, ExplainedPart::codes, x.elements.equal, x.elements.of,
                               x.of.kind, x.reading, x.order, x.of.rule},
                              codes_equal);
    if (is_told && first_codes != nullptr) break;
    if (is_told) first_codes = &x;
  }
  if (!told.empty() && told[0].elements.share() >= 0.9) {
    tell_other_blocks(given, all, told[0].reading, finding);
  }
  if (drawn.equal > 0 && !told.empty() && !told[0].elements.is_whole()) {
    tell(finding, drawn, std::max(codes_equal, told[0].elements.equal));
  }
  return first;
}

}  // namespace binade
