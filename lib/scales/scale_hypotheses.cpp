// SPDX-License-Identifier: Apache-2.0
//
// What may have happened to scales and codes that no rule explains: suspicions of scales first,
// then of codes, the best on all elements.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "lib/scales/suspected_codes.h"
#include "lib/scales/suspected_scales.h"

namespace binade {
namespace {

double share_of_codes(const SuspectedCodes& x) { return x.elements.share(); }

template <class Suspect>
void keep_best(std::vector<Suspect>& all, std::size_t most, const auto& share) {
  std::ranges::stable_sort(all,
                           [&](const Suspect& a, const Suspect& b) { return share(a) > share(b); });
  if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
}

/// Adds a hypothesis that at least halves what `base` leaves unequal, unless a better one is there
/// that leaves nothing. Returns whether it was added.
bool tell(ScaleFinding& finding, const ScaleHypothesis& x, std::uint64_t base) {
  const auto is_enough = [&](const ScaleHypothesis& other) {
    return other.part == x.part &&
           (other.equal == other.of || other.words == x.words || other.equal == x.equal);
  };
  if (x.equal <= base || 2 * (x.of - x.equal) > x.of - base) return false;
  if (std::ranges::any_of(finding.hypotheses, is_enough)) return false;
  finding.hypotheses.push_back(x);
  return true;
}

constexpr std::size_t most_told = 2;

/// The readings whose codes are tried: those for which scales, perhaps changed, and codes speak
/// most, and at least half as much as for the first.
std::vector<std::size_t> readings_to_try(std::span<const ReadingEvidence> evidence,
                                         std::span<const ScaleRuleFit> nearest,
                                         std::span<const SuspectedScales> suspected) {
  std::vector<double> scales(evidence.size());
  const auto take = [&](const auto& x) {
    scales[x.reading] = std::max(scales[x.reading], x.scales.share());
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

/// Tells of a scale of the tensor that is a rule's in another form than names say.
void tell_other_form(const Quantized& given, ScaleFinding& finding) {
  for (const ScaleRuleFit& fit : finding.nearest) {
    if (!fit.scales.is_whole() || fit.tensor.fit != TensorScaleFit::imagined) continue;
    const std::optional<TensorScalePart> part = part_that_is(fit.tensor.scale, *given.tensor);
    if (!part || given.layouts.empty()) continue;
    tell(finding,
         {fmt::format("{}: the scale of the tensor is {}, where by the names of {} it is {}",
                      fit.rule->name, part_words(*part), given.layouts[0]->name,
                      part_words(given.layouts[0]->part)),
          ExplainedPart::tensor_scale, 1, 1, "tensor_scale_form", fit.reading, fit.order, fit.rule},
         0);
  }
}

}  // namespace

std::optional<SuspectedRule> add_scale_hypotheses(const Quantized& given,
                                                  std::span<const ReadingEvidence> evidence,
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
  keep_best(scales, 12,
            [&](const SuspectedScales& x) { return x.scales.share() + evidence[x.reading].codes; });
  std::uint64_t codes_equal = 0;
  for (const ScaleRuleFit& fit : finding.nearest) {
    codes_equal = std::max(codes_equal, fit.elements.equal);
  }
  // What nearest rules make equal, but for those of readings for which codes speak less.
  const auto scales_equal = [&](std::size_t reading) {
    std::uint64_t out = 0;
    for (const ScaleRuleFit& fit : finding.nearest) {
      const bool counts = evidence[fit.reading].codes >= evidence[reading].codes - chance;
      if (counts) out = std::max(out, fit.scales.equal);
    }
    return out;
  };
  tell_other_form(given, finding);
  std::optional<SuspectedRule> first;
  for (const SuspectedScales& x : scales) {
    if (finding.hypotheses.size() == most_told) break;
    if (first && first->reading != x.reading) continue;
    const ReadingWork work(given, finding.readings[x.reading], NumbersTaken::as_given);
    const std::string words =
        fmt::format("{}: {} ({})", x.rule->name, x.words, reading_words(work, x.order));
    const bool is_told = tell(finding,
                              {words, ExplainedPart::scales, x.scales.equal, x.scales.of, x.kind,
                               x.reading, x.order, x.rule, x.factor},
                              std::min(scales_equal(x.reading), x.scales.of));
    if (is_told && !first) first = {x.reading, x.order, x.rule};
  }
  const std::vector<std::size_t> readings = readings_to_try(evidence, finding.nearest, scales);
  std::vector<SuspectedCodes> told;
  ScaleHypothesis drawn{.words = "", .part = ExplainedPart::codes, .kind = "stochastic"};
  const auto is_found = [&] {
    return std::ranges::any_of(told, [](const SuspectedCodes& x) { return x.elements.is_whole(); });
  };
  for (const std::size_t i : readings) {
    for (const NumbersTaken taken :
         {NumbersTaken::as_given, NumbersTaken::as_bfloat16, NumbersTaken::as_binary16}) {
      if (is_found()) break;
      const ReadingWork work(given, finding.readings[i], taken);
      std::vector<SuspectedCodes> codes;
      const CodeSuspicions suspicions(work, i, taken, finding.codings, codes);
      suspicions.try_stored(evidence[i].order);
      suspicions.try_made(scales);
      keep_best(codes, 4, share_of_codes);
      for (SuspectedCodes& x : codes) suspicions.count_all(x);
      if (taken == NumbersTaken::as_given && !codes.empty() && !codes[0].elements.is_whole()) {
        const std::uint64_t n = suspicions.drawn_neighbours(codes[0]);
        if (n > drawn.equal) {
          drawn.words =
              "each code is one of the two neighbours of its number, as stochastic rounding leaves "
              "them: " +
              codes[0].words;
          drawn.equal = n;
          drawn.of = given.x.size();
          drawn.reading = i;
          drawn.order = evidence[i].order;
          drawn.rule = codes[0].of.rule;
        }
      }
      for (SuspectedCodes& x : codes) {
        x.factors.clear();
        told.push_back(std::move(x));
      }
    }
  }
  keep_best(told, told.size(), share_of_codes);
  const std::size_t before = finding.hypotheses.size();
  for (const SuspectedCodes& x : told) {
    if (finding.hypotheses.size() == before + most_told) break;
    tell(finding,
         {x.words, ExplainedPart::codes, x.elements.equal, x.elements.of, x.of.kind, x.reading,
          evidence[x.reading].order, x.of.rule},
         codes_equal);
  }
  if (drawn.equal > 0 && !told[0].elements.is_whole()) {
    tell(finding, drawn, std::max(codes_equal, told[0].elements.equal));
  }
  return first;
}

}  // namespace binade
