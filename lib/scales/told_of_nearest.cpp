// SPDX-License-Identifier: Apache-2.0
//
// Each is told by what is left unequal.
#include "lib/scales/told_of_nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "lib/number/encoding_text.h"
#include "lib/scales/other_amaxes.h"
#include "lib/scales/scale_text.h"
#include "lib/scales/suspected_scales.h"
#include "lib/scales/tensor_scales.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

std::vector<std::string_view> names_of_rules(const ScaleRuleFit& fit) {
  std::vector<std::string_view> out;
  for (const NamedScaleRule* rule : fit.rules) out.push_back(rule->name);
  return out;
}

/// What a stored scale of the tensor is beside that of a rule.
std::string other_scale_words(const ReadingWork& work, const ScaleRule& rule, TensorScalePart part,
                              std::uint32_t stored) {
  const float number = number_of_bits(stored);
  if (std::isnan(number)) return "is NaN, under which there are no values";
  if (!std::isfinite(number) || number <= 0) {
    return fmt::format("is {:g}, where one is finite and above 0", number);
  }
  return "is of an amax that is " + amax_words(work, rule, part, stored);
}

/// "12 scales of NaN, FFC00000 stored where 7FC00000 is expected".
std::string nans_text(std::uint64_t n, std::string_view what, std::uint32_t stored,
                      std::uint32_t expected, const Format& format) {
  return fmt::format(
      "equal but for the bits of NaNs: of {} {}{}, the first {} stored where {} is "
      "expected",
      grouped(n), what, n == 1 ? "" : "s", hexadecimal(stored, format),
      hexadecimal(expected, format));
}

/// "nvfp4 along axis 1", "fp8_row along axis 1 of the transpose".
std::string blocks_text(const ScaleReading& x) {
  return fmt::format("{} along axis {}{}", x.format.name, x.axis,
                     x.transposed ? " of the transpose" : "");
}

}  // namespace

bool tell(ScaleFinding& finding, const ScaleHypothesis& x, std::uint64_t base) {
  const auto is_enough = [&](const ScaleHypothesis& other) {
    return other.part == x.part &&
           (other.equal == other.of || other.words == x.words || other.equal == x.equal);
  };
  // Half of the scales, or of codes in bytes, may be equal by chance.
  if (x.equal <= base || 4 * (x.of - x.equal) > x.of - base) return false;
  if (std::ranges::any_of(finding.hypotheses, is_enough)) return false;
  finding.hypotheses.push_back(x);
  return true;
}

void tell_other_form(const Quantized& given, ScaleFinding& finding) {
  for (const ScaleRuleFit& fit : finding.nearest) {
    if (!fit.scales.is_whole() || fit.tensor.fit != TensorScaleFit::imagined) continue;
    std::optional<TensorScalePart> part = part_that_is(fit.tensor.scale, *given.tensor);
    const TensorScalePart other = TensorScalePart::encode;
    if (!part && !given.layouts.empty() && given.layouts[0]->part != other) {
      const ReadingWork work(given, finding.readings[fit.reading], NumbersTaken::as_given);
      const bool is_other = is_scale_of_amax(work.steps(*fit.rule), work.format(), other,
                                             fit.tensor.scale.amax, *given.tensor);
      if (is_other) part = other;
    }
    if (!part && fit.elements.is_whole()) {
      const ReadingWork work(given, finding.readings[fit.reading], NumbersTaken::as_given);
      const TensorScalePart named =
          given.layouts.empty() ? TensorScalePart::decode : given.layouts[0]->part;
      tell(finding,
           {fmt::format("{}: scales and codes are as by the tensor's amax, and the stored scale of "
                        "the tensor {}",
                        listed(names_of_rules(fit)),
                        other_scale_words(work, work.steps(*fit.rule), named, *given.tensor)),
            ExplainedPart::tensor_scale, 1, 1, "tensor_scale_factor", fit.reading, fit.order,
            fit.rule},
           0);
    }
    if (!part || given.layouts.empty()) continue;
    tell(finding,
         {fmt::format("{}: the scale of the tensor is {}, where by the names of {} it is {}",
                      fit.rule->name, part_words(*part), given.layouts[0]->name,
                      part_words(given.layouts[0]->part)),
          ExplainedPart::tensor_scale, 1, 1, "tensor_scale_form", fit.reading, fit.order, fit.rule},
         0);
  }
}

void tell_nans(const Quantized& given, ScaleFinding& finding) {
  for (const ScaleRuleFit& fit : finding.nearest) {
    const bool scales = fit.scales.is_whole_but_nans(), codes = fit.elements.is_whole_but_nans();
    if ((!scales && !codes) || fit.tensor.fit == TensorScaleFit::imagined) continue;
    const ReadingWork work(given, finding.readings[fit.reading], NumbersTaken::as_given);
    const auto add = [&](ExplainedPart part, const ScaleAgreement& all, const std::string& words) {
      tell(finding,
           {fmt::format("{}: {} ({})", listed(names_of_rules(fit)), words,
                        reading_words(work, fit.order)),
            part, all.of, all.of, "nan_bits", fit.reading, fit.order, fit.rule},
           all.equal);
    };
    if (scales) {
      add(ExplainedPart::scales, fit.scales,
          nans_text(fit.scales.nans, "scale", fit.scale->stored, fit.scale->expected,
                    work.format().scale));
    }
    if (codes) {
      add(ExplainedPart::codes, fit.elements,
          nans_text(fit.elements.nans, "code", fit.element->stored, fit.element->expected,
                    work.format().element));
    }
  }
}

std::uint64_t most_of_one(const std::vector<std::uint32_t>& codes) {
  std::map<std::uint32_t, std::uint64_t> counts;
  std::uint64_t out = 0;
  for (const std::uint32_t code : codes) out = std::max(out, ++counts[code]);
  return out;
}

std::vector<std::uint32_t> codes_of_scales(const Quantized& given, const ScaleReading& reading,
                                           std::size_t order) {
  return stored_scales(given, reading, reading.orders[order]).codes;
}

void tell_constant(const Quantized& given, ScaleFinding& finding) {
  if (finding.nearest.empty()) return;
  const ScaleRuleFit& fit = finding.nearest[0];
  const ScaleReading& reading = finding.readings[fit.reading];
  const std::vector<std::uint32_t> codes = codes_of_scales(given, reading, fit.order);
  constexpr std::size_t least = 8;
  if (codes.size() < least || most_of_one(codes) < codes.size()) return;
  const ReadingWork work(given, reading, NumbersTaken::as_given);
  const ScaleRule steps = work.steps(*fit.rule);
  // Few other scales may have been lost otherwise.
  if (10 * most_of_one(work.scales(steps, fit.tensor.scale).codes) > 9 * codes.size()) return;
  const Format& scale = reading.format.format.scale;
  const bool is_usual =
      codes[0] == 0 || codes[0] == convert(block_steps::one, binary32, scale).bits;
  const bool is_of_tensor =
      block_scale(steps, work.format(), work.amax(steps), fit.tensor.scale).code == codes[0];
  tell(
      finding,
      {fmt::format("every scale is {}, whatever its block{} ({})", scale_number(codes[0], scale),
                   is_usual       ? ", as if none had been written"
                   : is_of_tensor ? fmt::format(": that of the tensor's amax by {}", fit.rule->name)
                                  : std::string(),
                   reading_words(work, fit.order)),
       ExplainedPart::scales, codes.size(), codes.size(), "constant", fit.reading, fit.order,
       fit.rule},
      std::min<std::uint64_t>(fit.scales.equal, codes.size() - 1));
}

void tell_other_blocks(const Quantized& given, std::span<const ScaleRuleFit> all,
                       std::size_t reading, ScaleFinding& finding) {
  constexpr std::size_t least = 8;
  const auto is_scales = [](const ScaleHypothesis& x) { return x.part == ExplainedPart::scales; };
  if (std::ranges::any_of(finding.hypotheses, is_scales)) return;
  const auto speaks = [](const ScaleRuleFit& x) { return x.speaks() > 0.9; };
  const auto is_own = [&](const ScaleRuleFit& x) { return x.reading == reading && speaks(x); };
  if (std::ranges::any_of(all, is_own)) return;
  const auto other = std::ranges::find_if(all, speaks);
  if (other == all.end() || other->scales.of < least) return;
  const ReadingWork work(given, finding.readings[other->reading], NumbersTaken::as_given);
  std::vector<std::string_view> names;
  for (const ScaleRuleFit& x : all) {
    if (x.reading == other->reading && x.order == other->order && x.scales == other->scales) {
      names.push_back(x.rule->name);
    }
  }
  constexpr std::size_t most_named = 4;
  const bool are_more = names.size() > most_named;
  names.resize(std::min(names.size(), most_named));
  tell(finding,
       {fmt::format("{}{}: the scales are of {}, {}, the codes of {}", listed(names),
                    are_more ? " …" : "", blocks_text(work.reading()),
                    order_text(work.reading().orders[other->order]),
                    blocks_text(finding.readings[reading])),
        ExplainedPart::scales, other->scales.equal, other->scales.of, "other_blocks",
        other->reading, other->order, other->rule},
       most_of_one(codes_of_scales(given, work.reading(), other->order)));
}

}  // namespace binade
