// SPDX-License-Identifier: Apache-2.0
//
// A block of zeros is one whose amax is 0.
#include "lib/scales/zero_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/number/encoding_text.h"
#include "lib/scales/scale_text.h"
#include "lib/scales/suspected_scales.h"
#include "lib/scales/told_of_nearest.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

/// The scale of all blocks of zeros, if they have one, and how many there are.
struct ScaleOfZeros {
  std::optional<std::uint32_t> code = {};
  std::uint64_t blocks = 0;
};

ScaleOfZeros scale_of_zeros(std::span<const std::uint32_t> amaxes, const StoredScales& stored) {
  ScaleOfZeros out;
  for (std::size_t i = 0; i < amaxes.size(); ++i) {
    if (amaxes[i] != 0) continue;
    if (out.blocks++ == 0) out.code = stored.codes[i];
    if (out.code != stored.codes[i]) out.code.reset();
  }
  return out;
}

/// Tells of scales that are a rule's but for those of blocks of zeros.
void tell_scales(const ReadingWork& work, const ScaleRuleFit& fit, ScaleFinding& finding) {
  const StoredScales stored =
      stored_scales(work.given(), work.reading(), work.reading().orders[fit.order]);
  const ScaleOfZeros zeros = scale_of_zeros(work.amaxes(work.steps(*fit.rule)), stored);
  if (!zeros.code || zeros.blocks != fit.scales.of - fit.scales.equal || fit.scales.equal == 0) {
    return;
  }
  tell(finding,
       {fmt::format("{}: every scale but those of {} blocks of zeros, which are all {} ({})",
                    fit.rule->name, grouped(zeros.blocks),
                    hexadecimal(*zeros.code, work.format().scale), reading_words(work, fit.order)),
        ExplainedPart::scales, fit.scales.of, fit.scales.of, "scales_of_zeros", fit.reading,
        fit.order, fit.rule},
       fit.scales.equal);
}

}  // namespace

void free_zero_blocks(const ReadingWork& work, StoredScales& stored) {
  const auto row = std::ranges::find_if(
      scale_rules, [&](const NamedScaleRule& rule) { return fits(rule, work.format()); });
  if (row == scale_rules.end()) return;
  const std::vector<std::uint32_t>& amaxes = work.amaxes(work.steps(*row));
  if (!scale_of_zeros(amaxes, stored).code) return;
  for (const std::uint32_t amax : amaxes) stored.free.push_back(amax == 0);
}

void tell_zero_blocks(const Quantized& given, ScaleFinding& finding) {
  if (finding.nearest.empty()) return;
  const auto is_zero = [](float x) { return x == 0; };
  if (std::ranges::all_of(given.x, is_zero)) {
    const ScaleRuleFit& fit = finding.nearest[0];
    tell(finding,
         {"every number is a zero, of which any scale gives zeros: scales and codes tell no rules "
          "apart",
          ExplainedPart::scales, fit.scales.of, fit.scales.of, "scales_of_zeros", fit.reading,
          fit.order, fit.rule},
         std::min(fit.scales.equal, fit.scales.of - 1));
    return;
  }
  const auto is_whole = [](const ScaleRuleFit& fit) { return fit.scales.is_whole(); };
  if (std::ranges::any_of(finding.nearest, is_whole)) return;
  for (const ScaleRuleFit& fit : finding.nearest) {
    const ReadingWork work(given, finding.readings[fit.reading], NumbersTaken::as_given);
    tell_scales(work, fit, finding);
  }
}

bool tell_zero_codes(const Quantized& given, ScaleFinding& finding) {
  if (finding.nearest.empty()) return false;
  const ScaleRuleFit& fit = finding.nearest[0];
  const ScaleReading& reading = finding.readings[fit.reading];
  const Format& element = reading.format.format.element;
  if (code_bytes(element) != 1) return false;
  const auto is_zero = [&](std::byte code) {
    return decode(std::to_integer<std::uint64_t>(code), element).kind == Kind::zero;
  };
  const std::vector<std::byte> codes = stored_codes(given, reading, NibbleOrder::low_first);
  if (!std::ranges::all_of(codes, is_zero)) return false;
  const auto others =
      static_cast<std::uint64_t>(std::ranges::count_if(given.x, [](float x) { return x != 0; }));
  if (others == 0) return true;
  tell(
      finding,
      {fmt::format("every code is a zero, of {} numbers that are not: as if none had been written, "
                   "or as of numbers far below their scales",
                   grouped(others)),
       ExplainedPart::codes, codes.size(), codes.size(), "unwritten", fit.reading, fit.order,
       fit.rule},
      std::min<std::uint64_t>(fit.elements.equal, codes.size() - 1));
  return true;
}

}  // namespace binade
