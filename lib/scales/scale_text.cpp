// SPDX-License-Identifier: Apache-2.0
//
// Writes for people which rules explain a quantizer's bits; where none does, the nearest, with the
// first block and the first element that differ.
#include "lib/scales/scale_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "emulate/carrier.h"
#include "lib/number/encoding_text.h"
#include "lib/scales/scale_work.h"
#include "lib/scales/tensor_scales.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"
#include "lib/text/terminal_width.h"

namespace binade {
namespace {

std::string place_text(std::uint64_t number, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> place(shape.size());
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = number % shape[i];
    number /= shape[i];
  }
  return shape_text(place);
}

/// "1 rule", "2 rules".
std::string some(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string array_text(const StoredArray& x) {
  return fmt::format("{} {}", x.dtype.name, shape_text(x.shape));
}

/// "0.75 (3F400000)", "about 0.3141593 (…)".
std::string number_text(std::uint64_t bits, const Format& format) {
  return fmt::format("{} ({})", value_text(bits, format), hexadecimal(bits, format));
}
std::string float_text(std::uint32_t bits) {
  return fmt::format("{:.7g} ({})", static_cast<double>(std::bit_cast<float>(bits)),
                     hexadecimal(bits, binary32));
}
std::string element_number(std::uint32_t code, const BlockFormat& format) {
  const Format& f = format.element;
  if (format.twos_complement) {
    const int shift = 32 - f.bits();
    return fmt::format("{} ({})", static_cast<std::int32_t>(code << shift) >> shift,
                       hexadecimal(code, f));
  }
  return number_text(code, f);
}

std::string head_text(const ScaleFinding& x, const Quantized& given) {
  std::string out = given.name.empty() ? "" : printable(given.name, 60) + ": ";
  out += fmt::format("{} {} to codes {}, scales {}", given.dtype.name, shape_text(given.shape),
                     array_text(given.codes), array_text(given.scales));
  if (given.tensor) out += ", scale of the tensor " + float_text(*given.tensor);
  if (!given.layouts.empty()) {
    std::vector<std::string_view> names;
    for (const CheckpointLayout* layout : given.layouts) names.push_back(layout->name);
    out += ", named as by " + alternatives(names);
  }
  return wrapped_to_terminal(out, 2) +
         wrapped_to_terminal(fmt::format("{}; {} of sizes and dtypes, {} held against the scales",
                                         some(given.x.size(), "element"),
                                         some(x.readings.size(), "reading"), some(x.rules, "rule")),
                             2);
}

std::string roundings_text(const ExplainingRules& x) {
  std::vector<std::string_view> names;
  for (const Rounding r : x.roundings) names.push_back(rounding_name(r));
  if (names.size() == 1 && x.roundings[0] == Rounding::ties_to_even)
    return "rounded as the rule says";
  if (x.roundings[0] == Rounding::ties_to_even) {
    names.erase(names.begin());
    return "rounded as the rule says, or " + alternatives(names) + ", which no element tells apart";
  }
  return "rounded " + alternatives(names) +
         (names.size() > 1 ? ", which no element tells apart" : "");
}

std::string explaining_text(const ScaleFinding& x, const Quantized& given,
                            const ExplainingRules& rules) {
  const ScaleRuleFit& fit = *rules.first;
  std::string out = wrapped_to_terminal(
      "  " + listed(rules.rules) + (rules.rules.size() > 1 ? ": no block tells these apart" : ""),
      4);
  std::string codes = roundings_text(rules);
  if (!fit.codes->words.empty()) codes += ", " + std::string(fit.codes->words);
  if (fit.step != fit.rule) codes += ", scaled as by " + std::string(fit.step->name);
  out += wrapped_to_terminal("     " + scale_reading_text(x, fit) + "; codes " + codes, 5);
  if (fit.tensor.fit == TensorScaleFit::equal) {
    out += fmt::format("     the scale of the tensor, too: {}\n", part_words(fit.tensor.part));
  } else if (fit.tensor.fit == TensorScaleFit::absent) {
    out += "     the scale of the tensor is not given: that of its amax was taken\n";
  }
  if (fit.filled > 0) {
    out += wrapped_to_terminal(fmt::format("     {} that fill the order up hold other bits than 0",
                                           some(fit.filled, "place")),
                               5);
  }
  const std::string call = quantize_call(x, given, rules);
  return call.empty() ? out : out + "     " + call + "\n";
}

std::string nearest_text(const ScaleFinding& x, const ScaleRuleFit& fit) {
  const ScaleReading& reading = x.readings[fit.reading];
  const BlockFormat& format = reading.format.format;
  std::vector<std::string_view> names;
  for (const NamedScaleRule* rule : fit.rules) names.push_back(rule->name);
  std::string out = wrapped_to_terminal(
      fmt::format("  {}: {} of {} scales, {} of {} codes, {} whole ({})", listed(names),
                  grouped(fit.scales.equal), grouped(fit.scales.of), grouped(fit.elements.equal),
                  grouped(fit.elements.of), some(fit.blocks, "block"), scale_reading_text(x, fit)),
      4);
  if (fit.tensor.fit == TensorScaleFit::imagined)
    out += wrapped_to_terminal("     with " + fit.tensor.words, 5);
  if (fit.scale) {
    const std::string apart = binades_text(*fit.scale, format.scale);
    out += wrapped_to_terminal(
        fmt::format("     block {}, amax {}: scale {} expected, {} stored{}",
                    block_place(reading, fit.scale->block), float_text(fit.scale->amax),
                    scale_number(fit.scale->expected, format.scale),
                    scale_number(fit.scale->stored, format.scale),
                    apart.empty() ? "" : ", " + apart),
        5);
  }
  if (fit.element) {
    out += wrapped_to_terminal(
        fmt::format("     element {}, {} under the scale {}: code {} expected, {} stored",
                    element_place(reading, fit.element->element), float_text(fit.element->x),
                    scale_number(fit.element->scale, format.scale),
                    element_number(fit.element->expected, format),
                    element_number(fit.element->stored, format)),
        5);
  }
  return out;
}

std::string hypotheses_text(const ScaleFinding& x) {
  std::string out = "What may have happened\n";
  for (const ScaleHypothesis& h : x.hypotheses) {
    const std::string share =
        h.part == ExplainedPart::tensor_scale
            ? "scale of the tensor"
            : fmt::format("{} of {} {}", grouped(h.equal), grouped(h.of),
                          h.part == ExplainedPart::codes ? "codes" : "scales");
    out += wrapped_to_terminal(fmt::format("  {} equal: {}", share, h.words), 4);
  }
  return out + "\n";
}

std::string tried_text(const ScaleFinding& x) {
  std::vector<std::string> names;
  for (const ScaleReading& r : x.readings) {
    if (std::ranges::find(names, r.format.name) == names.end()) names.push_back(r.format.name);
  }
  return fmt::format("{} in {}, {}, {} of making codes",
                     alternatives(std::vector<std::string_view>(names.begin(), names.end())),
                     some(x.readings.size(), "reading"), some(x.rules, "rule"),
                     some(x.codings, "way"));
}

/// What the hypotheses, and the nearest rule where they say nothing, make equal.
std::string made_equal_text(const ScaleFinding& x) {
  const auto is_whole = [&](ExplainedPart part) {
    return std::ranges::any_of(
        x.hypotheses, [&](const ScaleHypothesis& h) { return h.part == part && h.equal == h.of; });
  };
  const bool scales = is_whole(ExplainedPart::scales);
  const bool codes = is_whole(ExplainedPart::codes) ||
                     (scales && !x.nearest.empty() && x.nearest[0].elements.is_whole());
  if (!scales && !codes) return "";
  return fmt::format("; what may have happened makes every {} equal", scales && codes
                                                                          ? "scale and every code"
                                                                      : scales ? "scale"
                                                                               : "code");
}

/// Why the rules that explain all are several.
std::string undecided_text(const Quantized& given) {
  const auto is_zero = [](float v) { return v == 0; };
  if (std::ranges::all_of(given.x, is_zero)) {
    return "every number is 0, which cannot tell rules, axes or orders apart: give others";
  }
  const float size = std::abs(given.x[0]);
  if (std::ranges::all_of(given.x, [&](float v) { return std::abs(v) == size; })) {
    return "all numbers have one magnitude, which cannot tell axes or orders apart, and rules "
           "hardly: give others";
  }
  return "these numbers do not tell apart what stands above";
}

std::string scale_verdict(const ScaleFinding& x, const Quantized& given) {
  switch (x.conclusion()) {
    case ScaleConclusion::none:
      return wrapped_to_terminal("none: no rule explains every scale and every code" +
                                     made_equal_text(x) + "; tried were " + tried_text(x),
                                 2);
    case ScaleConclusion::unique: return "unique: one rule explains every scale and every code\n";
    case ScaleConclusion::several: break;
  }
  return wrapped_to_terminal("several: " + undecided_text(given), 2);
}

}  // namespace

std::string scale_number(std::uint32_t code, const Format& format) {
  if (format == binary32) return float_text(code);
  if (code >> format.bits() != 0) return fmt::format("{:02X}, with a sign", code);
  return number_text(code, format);
}

std::vector<ExplainingRules> explaining_rules(const ScaleFinding& x) {
  std::vector<ExplainingRules> of_rules;
  for (const ScaleRuleFit& fit : x.explaining) {
    const auto same = std::ranges::find_if(of_rules, [&](const ExplainingRules& g) {
      return g.first->reading == fit.reading && g.first->order == fit.order &&
             g.first->codes == fit.codes && g.first->rule == fit.rule && g.first->step == fit.step;
    });
    if (same == of_rules.end()) {
      of_rules.push_back({&fit, {fit.rule->name}, {fit.rounding}});
    } else {
      same->roundings.push_back(fit.rounding);
    }
  }
  std::vector<ExplainingRules> out;
  for (ExplainingRules& one : of_rules) {
    const auto own = [](const ScaleRuleFit& fit) {
      return fit.step == fit.rule ? nullptr : fit.step;
    };
    const auto same = std::ranges::find_if(out, [&](const ExplainingRules& g) {
      return g.first->reading == one.first->reading && g.first->order == one.first->order &&
             g.first->codes == one.first->codes && own(*g.first) == own(*one.first) &&
             g.roundings == one.roundings && g.first->tensor.fit == one.first->tensor.fit;
    });
    if (same == out.end()) {
      out.push_back(std::move(one));
    } else {
      same->rules.push_back(one.rules[0]);
    }
  }
  return out;
}

void JointRules::add(const ScaleFinding& x) {
  std::vector<std::string_view> its;
  for (const ExplainingRules& group : explaining_rules(x)) {
    for (const std::string_view rule : group.rules) {
      if (std::ranges::find(its, rule) == its.end()) its.push_back(rule);
    }
  }
  if (tensors++ == 0) {
    rules = std::move(its);
  } else {
    std::erase_if(rules,
                  [&](std::string_view rule) { return std::ranges::find(its, rule) == its.end(); });
  }
}

std::string joint_text(const JointRules& joint) {
  if (joint.tensors < 2) return "";
  if (joint.rules.empty()) return fmt::format("\nNo rule explains all {} tensors\n", joint.tensors);
  return "\n" + wrapped_to_terminal(
                    fmt::format("All {} tensors: {}", joint.tensors, listed(joint.rules)), 2);
}

std::string_view scale_conclusion_name(ScaleConclusion conclusion) {
  constexpr std::array<std::string_view, 3> names{"none", "unique", "several"};
  return names[static_cast<std::size_t>(conclusion)];
}

std::string scale_reading_text(const ScaleFinding& x, const ScaleRuleFit& fit) {
  const ScaleReading& r = x.readings[fit.reading];
  std::string out = r.format.name;
  if (!r.format.format.is_of_tensor()) out += fmt::format(" along axis {}", r.axis);
  if (r.transposed) out += " of the tensor's transpose";
  return out + ", scales " + order_text(r.orders[fit.order]);
}

std::string binades_text(const ScaleDifference& x, const Format& scale) {
  const auto number = [&](std::uint32_t code) {
    return code >> (scale.bits() - 1) > 1
               ? -1.0
               : value_of<double>(convert(code, scale, binary64).bits, binary64);
  };
  const double expected = number(x.expected), stored = number(x.stored);
  if (!(expected > 0) || !(stored > 0) || std::isinf(expected) || std::isinf(stored)) return "";
  const double apart = std::log2(stored / expected);
  const double size = std::abs(apart);
  const std::int64_t ulps = std::int64_t{x.stored} - std::int64_t{x.expected};
  if (scale != e8m0 && std::abs(ulps) <= 64) {
    return fmt::format("{} {} {}", std::abs(ulps), std::abs(ulps) == 1 ? "ulp" : "ulps",
                       ulps > 0 ? "above" : "below");
  }
  return fmt::format("{:.3g} {} {}", size, size == 1 ? "binade" : "binades",
                     apart > 0 ? "above" : "below");
}

std::string block_place(const ScaleReading& reading, std::uint64_t block) {
  if (reading.view.scale_shape.empty()) return "of all numbers";
  return place_text(block, reading.view.scale_shape);
}
std::string element_place(const ScaleReading& reading, std::uint64_t element) {
  return place_text(element, reading.shape);
}

std::string quantize_call(const ScaleFinding& x, const Quantized& given,
                          const ExplainingRules& rules) {
  const ScaleRuleFit& fit = *rules.first;
  const ScaleReading& r = x.readings[fit.reading];
  const StoredOrder& order = r.orders[fit.order];
  const Dtype& stored = given.scales.dtype;
  const bool is_other = stored.kind == DtypeKind::floating && stored.bits > 8 &&
                        *find_format(stored.format) != r.format.format.scale;
  if (is_other || r.transposed || order.of_transpose || fit.step != fit.rule ||
      !fit.codes->words.empty()) {
    return "";
  }
  const bool is_last = r.shape.empty() || r.axis + 1 == r.shape.size();
  const CheckpointLayout* layout =
      given.layouts.empty() ? &checkpoint_layouts[0] : given.layouts[0];
  std::string out = fmt::format("binade quantize IN OUT --format {} --scale-rule {}", r.format.name,
                                fit.rule->name);
  if (!is_last) out += fmt::format(" --axis {}", r.axis);
  if (fit.rounding != Rounding::ties_to_even) {
    out += fmt::format(" --rounding {}", rounding_name(fit.rounding));
  }
  out += given.of_stack ? " --stack --encode" : " --encode";
  if (layout != &checkpoint_layouts[0]) out += fmt::format(" --layout {}", layout->name);
  const std::string_view usual = scale_layout_of(*layout, r.format.format).name;
  if (std::ranges::find(order.same, usual) == order.same.end()) {
    out += fmt::format(" --scale-layout {}", order.layout->name);
  }
  return out;
}

std::string scales_text(const ScaleFinding& x, const Quantized& given, std::size_t show) {
  std::string out = head_text(x, given) + "\n";
  const std::vector<ExplainingRules> groups = explaining_rules(x);
  if (!groups.empty()) {
    out += "Explain every scale and every code\n";
    const std::size_t shown = std::min(groups.size(), std::max<std::size_t>(show, 1));
    for (std::size_t i = 0; i < shown; ++i) out += explaining_text(x, given, groups[i]);
    if (shown < groups.size()) {
      out += fmt::format("  … and {} more (--show N)\n", some(groups.size() - shown, "group"));
    }
    out += "\n";
  }
  if (!x.hypotheses.empty()) out += hypotheses_text(x);
  if (!x.nearest.empty()) {
    out += groups.empty() ? "Nearest\n" : "Nearest of the others\n";
    for (const ScaleRuleFit& fit : x.nearest) out += nearest_text(x, fit);
    out += "\n";
  }
  return out + scale_verdict(x, given);
}

}  // namespace binade
