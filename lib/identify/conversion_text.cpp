// SPDX-License-Identifier: Apache-2.0
//
// Writes a converter's rules for people: what explains its codes, which inputs decided it, and
// where nothing explains them, the first elements that differ.
#include "lib/identify/conversion_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/format_spec.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"
#include "lib/text/paragraph.h"
#include "lib/text/percent.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

/// Returns "element 17", in an array of several dimensions "element (3, 5)".
std::string element_text(std::uint64_t element, const Converted& given) {
  if (given.shape.size() < 2) return fmt::format("element {}", element);
  std::vector<std::uint64_t> place(given.shape.size());
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = element % given.shape[i];
    element /= given.shape[i];
  }
  return "element " + shape_text(place);
}

std::string elements_text(std::uint64_t n) {
  return grouped(n) + (n == 1 ? " element" : " elements");
}

std::string coded(std::uint64_t code, const Format& f) {
  return fmt::format("{} ({})", value_text(code, f), hexadecimal(code, f));
}

/// Returns the value and the bits of an input: "1.0625 (3F880000)", "about 0.08260927 (3DA92F0C)".
std::string input_text(std::uint64_t input, const Format& f) {
  constexpr std::size_t longest = 12;
  std::string value = value_text(input, f);
  if (value.size() > longest) {
    const Decimal magnitude = decimal_of(finite_magnitude(input, f));
    value = fmt::format("about {}{}", fields_of(input, f).negative ? "-" : "",
                        short_text(magnitude, 7));
  }
  return fmt::format("{} ({})", value, hexadecimal(input, f));
}

/// Returns where a finite input lies: "halfway between 1 (38) and 1.125 (39)".
std::string place_text(std::uint64_t input, const Converted& given) {
  const Exact x = decode(input, given.from);
  const auto rounded = [&](Rounding rounding) {
    return converted({.steps = {{given.to, rounding, Overflow::largest}}}, x);
  };
  const Projected low =
      project(x, given.to, {.rounding = Rounding::toward_zero, .saturation = Saturation::finite});
  if ((low.flags & Flag::inexact) == 0) return "exactly " + coded(low.bits, given.to);
  const std::uint64_t high =
      rounded(x.negative ? Rounding::toward_negative : Rounding::toward_positive);
  if (low.bits == high) return "beyond the largest number " + coded(high, given.to);
  const std::uint64_t even = rounded(Rounding::ties_to_even);
  const int e = x.exponent + bit_width(x.significand) - 1;
  const Cut c = cut(x, std::max(e, given.to.emin()) - given.to.fraction_bits() - x.exponent);
  const std::string ends = coded(low.bits, given.to) + " and " + coded(high, given.to);
  if (c.exactly_half) return "halfway between " + ends;
  return fmt::format("between {}, nearer to {}", ends, hexadecimal(even, given.to));
}

std::string attribute_text(const DecidedAttribute& x, const Converted& given) {
  if (!x.open.empty()) return fmt::format("  {}: not decided: {}\n", x.name, x.open);
  std::string out = fmt::format("  {}: {}", x.name, x.value);
  std::vector<std::string> same;
  std::vector<std::string> excluded;
  const ExcludedChoice* nearest = nullptr;
  for (const ExcludedChoice& other : x.others) {
    if (other.elements == 0) {
      same.push_back(other.words);
      continue;
    }
    if (nearest == nullptr) nearest = &other;
    excluded.push_back(fmt::format("{} by {}", other.words, elements_text(other.elements)));
  }
  if (nearest != nullptr) {
    const CodeDifference& first = *nearest->first;
    excluded[0] +=
        fmt::format(" ({}: {} would be {}, is {})", element_text(first.element, given),
                    input_text(first.input, given.from), hexadecimal(first.expected, given.to),
                    hexadecimal(first.found, given.to));
    out += fmt::format("; excluded: {}", fmt::join(excluded, ", "));
  }
  if (!same.empty()) {
    out += fmt::format("; not decided: {} would give the same", fmt::join(same, ", "));
  }
  return wrapped(out, 4);
}

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return fmt::format("{} of {} ({})", grouped(part), grouped(all),
                     percent(all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all)));
}

std::string differences_text(const std::vector<CodeDifference>& list, const Converted& given,
                             std::size_t show) {
  std::string out;
  for (std::size_t i = 0; i < std::min(show, list.size()); ++i) {
    out += fmt::format("  {}: {}\n", element_text(list[i].element, given),
                       difference_text(list[i], given));
  }
  return out;
}

std::string specials_text(const char* name, const SpecialCodes& x, const Converted& given,
                          std::size_t show) {
  if (x.elements == 0) return fmt::format("{}: not decided: no input is one\n", name);
  if (!x.rules.empty()) {
    std::string out = fmt::format("{}: {}", name, x.rules[0]);
    if (x.rules.size() > 1) {
      out += fmt::format("; the same here: {}", fmt::join(std::span(x.rules).subspan(1), ", "));
    }
    return out + "\n";
  }
  return fmt::format("{}: none of the rules; the nearest, {}: {}\n", name,
                     share_text(x.equal, x.elements), x.nearest) +
         differences_text(x.first, given, show);
}

/// Returns what comes near where no rule explains every finite number: first the hypotheses, if one
/// would explain more than the nearest rule does.
std::string unexplained_text(const ConversionFinding& x, const Converted& given, std::size_t show) {
  const std::string rule = x.nearest ? conversion_text(*x.nearest) : "";
  const std::string nearest =
      fmt::format("  nearest, {}: {}\n", share_text(x.equal, x.finite), rule) +
      differences_text(x.first, given, show);
  std::string suspected;
  bool explains_more = false;
  for (const ConversionHypothesis& h : x.hypotheses) {
    const std::string share = h.elements > 0 ? share_text(h.equal, h.elements) + ": " : "";
    suspected += wrapped("  hypothesis: " + share + h.words, 4);
    explains_more = explains_more || h.equal > x.equal;
  }
  const std::string head =
      fmt::format("Finite numbers: none of {} rules explains every code\n", grouped(x.tried));
  return head + (explains_more ? suspected + nearest : nearest + suspected);
}

std::string finite_text(const ConversionFinding& x, const Converted& given, std::size_t show) {
  if (x.finite == 0) return "Finite numbers: not decided: no input is one\n";
  if (x.explaining.empty()) return unexplained_text(x, given, show);
  std::string out = fmt::format("Finite numbers: {}\n", conversion_text(x.explaining[0]));
  for (const DecidedAttribute& attribute : x.decided) out += attribute_text(attribute, given);
  const std::string options = quantize_options(x.explaining[0]);
  if (!options.empty()) out += "  binade quantize IN OUT " + options + "\n";
  for (std::size_t i = 1; i < std::min(show + 1, x.explaining.size()); ++i) {
    out += fmt::format("  or, with the same codes here: {}\n", conversion_text(x.explaining[i]));
  }
  if (x.explaining.size() > show + 1) {
    out += fmt::format("  … and {} more (--show N)\n", x.explaining.size() - show - 1);
  }
  for (std::size_t i = 0; i < std::min(show, x.same.size()); ++i) {
    out += fmt::format("  the same in other words: {}\n", conversion_text(x.same[i]));
  }
  if (x.unchecked > 0) {
    out += fmt::format("  {} more rules explain a sample and were not compared on all inputs\n",
                       grouped(x.unchecked));
  }
  return out;
}

std::string verdict_text(const ConversionFinding& x) {
  switch (x.conclusion()) {
    case ConversionConclusion::none: return "none: no rule of the table explains every code\n";
    case ConversionConclusion::unique:
      return fmt::format("unique: one rule explains every code, {} others are contradicted\n",
                         grouped(x.tried - 1));
    case ConversionConclusion::several: break;
  }
  return x.explaining.size() > 1 ? "several: these inputs do not tell the rules above apart\n"
                                 : "several: these inputs do not decide the rounding\n";
}

}  // namespace

std::string_view conclusion_name(ConversionConclusion conclusion) {
  constexpr std::array<std::string_view, 3> names{"none", "unique", "several"};
  return names[static_cast<std::size_t>(conclusion)];
}

std::string difference_text(const CodeDifference& x, const Converted& given) {
  const Kind kind = decode(x.input, given.from).kind;
  const bool finite = kind == Kind::finite || kind == Kind::zero;
  return fmt::format("{}{}: expected {}, found {}", input_text(x.input, given.from),
                     finite ? ", " + place_text(x.input, given) : "",
                     hexadecimal(x.expected, given.to), coded(x.found, given.to));
}

std::string quantize_options(const Conversion& how) {
  const ConversionStep& step = how.steps.back();
  if (how.steps.size() > 1 || step.overflow == Overflow::outward || how.positive_zero) return "";
  const bool flushes_otherwise =
      step.flushed != Flushed::none && step.flushed != Flushed::after_rounding;
  if (flushes_otherwise || !how.signed_nan) return "";
  std::string out =
      fmt::format("--format {} --rounding {}", spec_of(step.to), rounding_name(step.rounding));
  if (step.overflow == Overflow::largest) out += " --saturation finite";
  if (step.flushed == Flushed::after_rounding) out += " --ftz";
  if (how.flush_operands) out += " --daz";
  return out;
}

std::string finding_text(const ConversionFinding& x, const Converted& given, std::size_t show) {
  std::string out =
      fmt::format("{}, {} to {}: {} finite, {} infinite, {} NaN\n\n", elements_text(x.elements),
                  spec_of(given.from), spec_of(given.to), grouped(x.finite),
                  grouped(x.infinities.elements), grouped(x.nans.elements));
  out += finite_text(x, given, show);
  out += specials_text("Infinities", x.infinities, given, show);
  out += specials_text("NaNs", x.nans, given, show);
  return out + "\n" + verdict_text(x);
}

}  // namespace binade
