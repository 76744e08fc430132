// SPDX-License-Identifier: Apache-2.0
//
// Scales of all blocks are compared under every reading and rule, since they are few. Codes are
// compared to the first that differs, but for those that are told as the nearest.
#include "lib/scales/scale_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "lib/block/block_file.h"
#include "lib/format/format_spec.h"
#include "lib/range/quantize_stream.h"
#include "lib/scales/scale_work.h"
#include "lib/scales/suspected_scales.h"
#include "lib/scales/tensor_scales.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

/// The stored scales of a reading in each of its orders.
std::vector<StoredScales> scales_in_orders(const Quantized& given, const ScaleReading& reading) {
  std::vector<StoredScales> out;
  for (const StoredOrder& order : reading.orders) {
    out.push_back(stored_scales(given, reading, order));
  }
  return out;
}

/// The rule's scales with another rule's way from a number to its code.
ScaleRule with_step(const ScaleRule& rule, const NamedScaleRule& step) {
  ScaleRule out = rule;
  out.factor = step.rule.factor;
  out.cast = step.rule.cast;
  return out;
}

/// The rules with element steps of their own under a rule's scales, itself first.
std::vector<const NamedScaleRule*> steps_under(const NamedScaleRule& rule,
                                               const BlockFormat& format) {
  std::vector<const NamedScaleRule*> out{&rule};
  for (const NamedScaleRule& other : scale_rules) {
    if (!fits(other, format)) continue;
    const bool is_there = std::ranges::any_of(out, [&](const NamedScaleRule* x) {
      return x->rule.factor == other.rule.factor && x->rule.cast == other.rule.cast;
    });
    if (!is_there) out.push_back(&other);
  }
  return out;
}

/// The ways in which halves of bytes are read.
std::vector<const CodeReading*> orders_of_codes(const Quantized& given,
                                                const ScaleReading& reading) {
  std::vector<const CodeReading*> out{&code_readings[0]};
  for (const CodeReading& row : code_readings) {
    if (row.is_packed && codes_are_packed(given, reading)) out.push_back(&row);
  }
  return out;
}

/// What makes the codes of a fit.
struct CodesOfFit {
  BlockQuantizer to;
  BlockScales made;
  std::vector<std::uint32_t> factors;
};

CodesOfFit codes_of_fit(const ReadingWork& work, const ScaleRuleFit& fit, BlockScales made) {
  CodesOfFit out{
      .to = work.quantizer(with_step(work.steps(*fit.rule), *fit.step), fit.tensor.scale),
      .made = std::move(made),
      .factors = {}};
  out.to.attributes.rounding = fit.rounding;
  out.factors =
      fit.step == fit.rule ? out.made.factors : factors_under(work, out.to, out.made.codes);
  return out;
}

/// Adds the roundings, and the orders of halves, in which a fit's step explains every code.
void add_explaining(const ReadingWork& work, const ScaleRuleFit& whole, const BlockScales& made,
                    ScaleFinding& finding) {
  ScaleRuleFit fit = whole;
  CodesOfFit codes = codes_of_fit(work, fit, made);
  for (const CodeReading* how : orders_of_codes(work.given(), work.reading())) {
    fit.codes = how;
    const std::vector<std::byte> stored = stored_codes(work.given(), work.reading(), how->order);
    for (const Rounding rounding : roundings_tried()) {
      fit.rounding = codes.to.attributes.rounding = rounding;
      ++finding.codings;
      fit.elements =
          codes_agree(work, codes.to, codes.factors, stored, *how, {.to_the_first = true});
      if (fit.elements.first) continue;
      fit.blocks = fit.scales.of;
      finding.explaining.push_back(fit);
    }
  }
}

/// Whether a rule that chooses scales by errors, which takes long, is contradicted by a sample: by
/// half of it, or by any block where another rule gives all scales.
bool is_left_out(const ReadingWork& work, const NamedScaleRule& rule,
                 const TensorScaleChoice& tensor, std::span<const StoredScales> stored,
                 bool any_whole) {
  if (rule.rule.four_or_six == FourOrSix::six) return false;
  const ScaleAgreement some = sampled_scales(work, work.steps(rule), tensor.scale, stored);
  return any_whole ? !some.is_whole() : some.share() < 0.5;
}

/// Every rule's scales held against those of a reading; of those that give all scales, the rules'
/// own codes.
void add_scale_fits(const ReadingWork& work, std::size_t reading, ScaleFinding& finding,
                    std::vector<ScaleRuleFit>& out) {
  const std::vector<StoredScales> stored = scales_in_orders(work.given(), work.reading());
  bool any_whole = false;
  for (const NamedScaleRule& rule : scale_rules) {
    if (!fits(rule, work.format())) continue;
    ++finding.rules;
    const TensorScaleChoice tensor = tensor_scale_choices(work, rule, false)[0];
    if (is_left_out(work, rule, tensor, stored, any_whole)) continue;
    const BlockScales made = work.scales(work.steps(rule), tensor.scale);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      ScaleRuleFit fit{.reading = reading,
                       .order = order,
                       .rules = {&rule},
                       .rule = &rule,
                       .tensor = tensor,
                       .step = &rule,
                       .codes = &code_readings[0],
                       .scales = scales_agree(work.format().scale, made.codes, stored[order]),
                       .weight = stored[order].weight(),
                       .filled = stored[order].filled()};
      if (const auto first = fit.scales.first) {
        fit.scale = {*first, work.amaxes(rule.rule)[*first],
                     held_scale(made.codes[*first], stored[order].held),
                     stored[order].codes[*first]};
      }
      any_whole = any_whole || fit.scales.is_whole();
      if (fit.is_whole_so_far()) add_explaining(work, fit, made, finding);
      out.push_back(std::move(fit));
    }
  }
}

/// Adds what explains every code by another rule's step, where no rule's own does.
void add_explaining_by_others(const Quantized& given, const std::vector<ScaleRuleFit>& all,
                              ScaleFinding& finding) {
  for (const ScaleRuleFit& whole : all) {
    if (!whole.is_whole_so_far()) continue;
    const ReadingWork work(given, finding.readings[whole.reading], NumbersTaken::as_given);
    const BlockScales made = work.scales(work.steps(*whole.rule), whole.tensor.scale);
    for (const NamedScaleRule* step : steps_under(*whole.rule, work.format())) {
      ScaleRuleFit fit = whole;
      fit.step = step;
      if (step != whole.rule) add_explaining(work, fit, made, finding);
    }
  }
}

/// Counts what a fit explains, and the first element that it does not.
void count_codes(const ReadingWork& work, ScaleRuleFit& fit) {
  const CodesOfFit codes =
      codes_of_fit(work, fit, work.scales(work.steps(*fit.rule), fit.tensor.scale));
  const std::vector<std::uint32_t>& made = codes.made.codes;
  const std::vector<std::byte> stored =
      stored_codes(work.given(), work.reading(), fit.codes->order);
  std::vector<std::uint8_t> differing(work.reading().view.blocks());
  fit.elements =
      codes_agree(work, codes.to, codes.factors, stored, *fit.codes, {.differing = &differing});
  const StoredScales scales =
      stored_scales(work.given(), work.reading(), work.reading().orders[fit.order]);
  for (std::size_t i = 0; i < differing.size(); ++i) {
    const bool same = held_scale(made[i], scales.held) == scales.codes[i];
    fit.blocks += same && differing[i] == 0 ? 1 : 0;
  }
  if (!fit.elements.first) return;
  const std::uint64_t at = *fit.elements.first;
  const std::uint64_t block = block_of_element(work.reading().view, at);
  const std::size_t bytes = code_bytes(work.format().element);
  std::uint32_t found = 0;
  std::memcpy(&found, &stored[at * bytes], bytes);
  fit.element = {at,
                 block,
                 std::bit_cast<std::uint32_t>(work.x()[at]),
                 made[block],
                 made_code(codes.to, codes.factors[block], work.x()[at], *fit.codes),
                 found};
}

/// Puts the fits that explain most into finding.nearest, those together that explain the same, and
/// `first` before the others.
void add_nearest(const Quantized& given, std::vector<ScaleRuleFit>& all, std::size_t show,
                 const std::optional<SuspectedRule>& first, ScaleFinding& finding) {
  constexpr std::size_t most_counted = 16;
  // Where few scales are a rule's they may be so by chance, and codes tell which rules are near.
  const bool by_codes = finding.explaining.empty() && !all.empty() && all[0].speaks() < 0.5;
  const auto is_first = [&](const ScaleRuleFit& x) {
    return first && x.reading == first->reading && x.order == first->order && x.rule == first->rule;
  };
  if (by_codes) {
    const std::pair best{all[0].reading, all[0].order};
    const ReadingWork work(given, finding.readings[best.first], NumbersTaken::as_given);
    const auto rest = std::ranges::find_if(all, [&](const ScaleRuleFit& x) {
      return std::pair{x.reading, x.order} != best;
    });
    const std::span fits(all.begin(), rest);
    for (ScaleRuleFit& fit : fits) {
      if (fit.elements.of == 0) count_codes(work, fit);
    }
    std::ranges::stable_sort(fits, std::greater(), [](const ScaleRuleFit& x) {
      const double another = x.tensor.fit == TensorScaleFit::imagined ? chance : 0;
      return x.scales.share() + x.elements.share() - another;
    });
  }
  std::ranges::stable_partition(all, is_first);
  std::size_t counted = 0;
  for (const ScaleRuleFit& one : all) {
    const bool explains = std::ranges::any_of(finding.explaining, [&](const ScaleRuleFit& x) {
      return x.reading == one.reading && x.rule == one.rule;
    });
    const bool is_elsewhere =
        !finding.explaining.empty() && one.reading != finding.explaining[0].reading;
    // Of the orders in which a rule was held to a reading, the best stands for all.
    const bool is_told = std::ranges::any_of(finding.nearest, [&](const ScaleRuleFit& x) {
      return x.reading == one.reading && std::ranges::find(x.rules, one.rule) != x.rules.end();
    });
    if (explains || is_elsewhere || is_told) continue;
    if (++counted > most_counted) break;
    ScaleRuleFit fit = one;
    if (fit.elements.of == 0) {
      count_codes(ReadingWork(given, finding.readings[fit.reading], NumbersTaken::as_given), fit);
    }
    const auto same = std::ranges::find_if(finding.nearest, [&](const ScaleRuleFit& x) {
      return x.reading == fit.reading && x.order == fit.order && x.scales == fit.scales &&
             x.elements == fit.elements && x.blocks == fit.blocks && x.scale == fit.scale &&
             x.element == fit.element && x.tensor.scale == fit.tensor.scale;
    });
    if (same != finding.nearest.end()) {
      same->rules.push_back(fit.rule);
    } else if (finding.nearest.size() < std::max<std::size_t>(show, 1)) {
      finding.nearest.push_back(std::move(fit));
    } else {
      break;
    }
  }
}

/// Puts the fits first of the reading, and the order of scales, for which scales and codes speak
/// most; of those that differ by chance, the plainest, which is before the others in its list.
void put_best_reading_first(std::vector<ScaleRuleFit>& all,
                            std::span<const ReadingEvidence> evidence) {
  const auto speaks = [&](const ScaleRuleFit& x) { return x.speaks() + evidence[x.reading].codes; };
  double most = 0;
  for (const ScaleRuleFit& fit : all) most = std::max(most, speaks(fit));
  std::pair best{evidence.size(), std::size_t{0}};
  for (const ScaleRuleFit& fit : all) {
    if (speaks(fit) >= most - chance) best = std::min(best, std::pair{fit.reading, fit.order});
  }
  std::ranges::stable_partition(all, [&](const ScaleRuleFit& x) {
    return std::pair{x.reading, x.order} == best;
  });
}

/// Leaves out orders whose filled places hold something, where others explain all that is stored or
/// where the blocks' scales are all the same: these would fit wherever they stand.
void leave_out_filled(const Quantized& given, std::span<const ScaleReading> readings,
                      std::vector<ScaleRuleFit>& explaining) {
  std::erase_if(explaining, [&](const ScaleRuleFit& x) {
    if (x.filled == 0) return false;
    const ScaleReading& reading = readings[x.reading];
    const auto codes = stored_scales(given, reading, reading.orders[x.order]).codes;
    return std::ranges::all_of(codes, [&](std::uint32_t code) { return code == codes[0]; });
  });
  const auto is_filled = [](const ScaleRuleFit& x) { return x.filled > 0; };
  if (std::ranges::all_of(explaining, is_filled)) return;
  std::erase_if(explaining, is_filled);
}

/// Throws Error if a format fits but for the scale of the tensor that is given.
void throw_if_tensor_scale_is_idle(const Quantized& given,
                                   const std::optional<NamedOrCustomBlock>& format) {
  if (!given.tensor) return;
  Quantized without = given;
  without.tensor.reset();
  const std::vector<ScaleReading> readings = scale_readings(without, format);
  if (readings.empty()) return;
  throw Error(fmt::format(
      "{}: sizes and dtypes fit {}, which has no scale of the tensor, and one "
      "is given; leave it out",
      given.name.empty() ? "the arrays" : printable(given.name, 60), readings[0].format.name));
}

/// What arrays of a format would be: "codes F8_E4M3 or U8 (4, 64), scales F8_E8M0 or U8 (4, 2)".
std::string wanted_text(const NamedOrCustomBlock& format, const std::vector<std::uint64_t>& shape) {
  const BlockFormat& f = format.format;
  const bool is_packed = f.element.bits() == 4;
  std::vector<std::uint64_t> codes = shape;
  if (is_packed && !codes.empty()) codes.back() = (codes.back() + 1) / 2;
  const auto dtypes_of = [](const Format& x) -> std::string {
    const Dtype dtype = encoded_dtype(x == ue4m3 ? e4m3 : x);
    return dtype.kind != DtypeKind::floating || x == binary32 ? std::string(dtype.name)
                                                              : fmt::format("{} or U8", dtype.name);
  };
  const BlockView view = block_view(f, shape, -1);
  std::string out =
      fmt::format("codes {} {}, scales {} {}", is_packed ? "U8" : dtypes_of(f.element),
                  shape_text(codes), dtypes_of(f.scale), shape_text(view.scale_shape));
  const ScaleGrid grid = grid_of(view.scale_shape);
  for (const ScaleLayout& layout : scale_layouts) {
    const ScaleGrid filled = layout.filled(grid);
    const bool is_other = filled.rows * filled.columns != grid.rows * grid.columns;
    if (is_other && layout.is_of(f)) {
      out += fmt::format(", as {} {}{}", layout.name, layout.word > 1 ? "I32 " : "",
                         shape_text(layout.shape(grid)));
    }
  }
  return out;
}

/// Of codes of 4 or 6 bits, a byte each, one that has more, if without it something would fit; else
/// nothing.
std::string wide_code_text(const Quantized& given,
                           const std::optional<NamedOrCustomBlock>& format) {
  const std::vector<std::uint64_t>& shape = given.codes.shape;
  for (const int bits : {4, 6}) {
    Quantized narrow = given;
    std::optional<std::size_t> first;
    std::size_t wide = 0;
    for (std::size_t i = 0; i < narrow.codes.bytes.size(); ++i) {
      const std::byte kept = narrow.codes.bytes[i] & std::byte((1 << bits) - 1);
      if (kept != narrow.codes.bytes[i] && wide++ == 0) first = i;
      narrow.codes.bytes[i] = kept;
    }
    const std::vector<ScaleReading> readings = scale_readings(narrow, format);
    // Where many have more, codes are of another format.
    if (!first || readings.empty() || shape.empty() || 8 * wide > narrow.codes.bytes.size()) {
      continue;
    }
    std::vector<std::uint64_t> place(shape.size());
    std::uint64_t rest = *first;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) place[i] = rest % shape[i];
    return fmt::format("the code {:02X} at {} is above {:02X}, the last of {} bits, as {} has them",
                       std::to_integer<int>(given.codes.bytes[*first]), shape_text(place),
                       (1 << bits) - 1, bits, readings[0].format.name);
  }
  return "";
}

/// Throws Error if something would fit but for a code that has too many bits.
void throw_if_code_is_wide(const Quantized& given,
                           const std::optional<NamedOrCustomBlock>& format) {
  if (given.codes.dtype.kind != DtypeKind::integer || given.codes.dtype.bits != 8) return;
  const std::string wide = wide_code_text(given, format);
  if (wide.empty()) return;
  throw Error(fmt::format("{}: {}; mend it, or give codes of 8 bits with their scales",
                          given.name.empty() ? "the arrays" : printable(given.name, 60), wide));
}

Error nothing_fits(const Quantized& given, const std::optional<NamedOrCustomBlock>& format) {
  const auto told = [](const StoredArray& x) {
    return fmt::format("{} {}", x.dtype.name, shape_text(x.shape));
  };
  std::string remedy = "give --format for blocks of your own, such as e2m1:block=1x64:scale=e8m0";
  if (given.codes.dtype.kind == DtypeKind::integer && given.codes.dtype.bits > 16) {
    remedy = fmt::format("store codes in U8, a byte each, not in {}", given.codes.dtype.name);
  } else if (given.scales.dtype.kind == DtypeKind::integer && given.scales.dtype.bits > 32) {
    remedy = fmt::format("store scales in U8 or F32, not in {}", given.scales.dtype.name);
  } else if (format) {
    remedy = "along the last axis they have " + wanted_text(*format, given.shape);
  }
  return Error(fmt::format(
      "{}: numbers {}, codes {}, scales {}: sizes and dtypes fit {}; {}",
      given.name.empty() ? "the arrays" : printable(given.name, 60), shape_text(given.shape),
      told(given.codes), told(given.scales),
      format ? "no blocks of " + format->name : "no block format that is known", remedy));
}

/// Tells of codes and scales that a rule explains if their bits are taken as another format's than
/// their dtypes say. Returns whether there is one.
bool tell_other_dtype(const Quantized& given, const std::optional<NamedOrCustomBlock>& format,
                      ScaleFinding& finding) {
  const auto is_named = [](const StoredArray& x) {
    return x.dtype.kind == DtypeKind::floating && x.dtype.bits == 8;
  };
  if (!is_named(given.codes) && !is_named(given.scales)) return false;
  Quantized bits = given;
  for (StoredArray* x : {&bits.codes, &bits.scales}) {
    if (is_named(*x)) x->dtype = *find_dtype("U8");
  }
  for (const ScaleReading& reading : scale_readings(bits, format)) {
    ScaleFinding one{.readings = {reading}};
    std::vector<ScaleRuleFit> all;
    add_scale_fits(ReadingWork(bits, reading, NumbersTaken::as_given), 0, one, all);
    if (one.explaining.empty()) continue;
    const BlockFormat& f = reading.format.format;
    std::string words;
    const auto add = [&](std::string_view what, const StoredArray& x, const Format& is) {
      if (!is_named(x) || *find_format(x.dtype.format) == is ||
          (is == ue4m3 && *find_format(x.dtype.format) == e4m3)) {
        return;
      }
      words += fmt::format("{}{} of {}, though their dtype is {}", words.empty() ? "" : ", ", what,
                           format_name(is), x.dtype.name);
    };
    add("codes", given.codes, f.element);
    add("scales", given.scales, f.scale);
    if (words.empty()) continue;
    const ScaleRuleFit& fit = one.explaining[0];
    const ReadingWork work(bits, reading, NumbersTaken::as_given);
    finding.readings.push_back(reading);
    finding.hypotheses.push_back(
        {.words = fmt::format("{}: {} ({})", fit.rule->name, words, reading_words(work, fit.order)),
         .part = ExplainedPart::codes,
         .equal = fit.elements.equal,
         .of = fit.elements.of,
         .kind = "other_dtype",
         .reading = finding.readings.size() - 1,
         .order = fit.order,
         .rule = fit.rule});
    return true;
  }
  return false;
}

}  // namespace

ScaleFinding identify_scales(const Quantized& given,
                             const std::optional<NamedOrCustomBlock>& format, std::size_t show) {
  if (format && given.tensor && !format->format.tensor_scale) {
    throw Error(
        fmt::format("{}: has no scale of the tensor, and one is given; leave it out or "
                    "choose another --format",
                    format->name));
  }
  ScaleFinding out;
  out.readings = scale_readings(given, format);
  std::vector<ScaleRuleFit> all;
  for (std::size_t i = 0; i < out.readings.size(); ++i) {
    const ReadingWork work(given, out.readings[i], NumbersTaken::as_given);
    add_scale_fits(work, i, out, all);
  }
  if (out.rules == 0) {
    throw_if_code_is_wide(given, format);
    throw_if_tensor_scale_is_idle(given, format);
    throw nothing_fits(given, format);
  }
  if (out.explaining.empty()) add_explaining_by_others(given, all, out);
  std::ranges::stable_sort(
      all, [](const ScaleRuleFit& a, const ScaleRuleFit& b) { return a.speaks() > b.speaks(); });
  leave_out_filled(given, out.readings, out.explaining);
  std::vector<ReadingEvidence> evidence;
  for (std::size_t i = 0; out.explaining.empty() && i < out.readings.size(); ++i) {
    const ReadingWork work(given, out.readings[i], NumbersTaken::as_given);
    evidence.push_back(evidence_of_codes(work));
  }
  if (!evidence.empty()) put_best_reading_first(all, evidence);
  add_nearest(given, all, show, {}, out);
  if (!out.explaining.empty() || tell_other_dtype(given, format, out)) return out;
  const std::optional<SuspectedRule> suspected = add_scale_hypotheses(given, evidence, all, out);
  if (!suspected) return out;
  // The rule that is suspected is told first, whatever of it is equal as it stands.
  out.nearest.clear();
  add_nearest(given, all, show, suspected, out);
  return out;
}

}  // namespace binade
