// SPDX-License-Identifier: Apache-2.0
//
// Finds which of the rules of project.h applied to a rounding, in their order, and describes it.
#include "lib/explain/rounding_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "emulate/integer_dot.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"

namespace binade {
namespace {

constexpr std::array<std::pair<Flags, std::string_view>, 5> flag_names{
    {{Flag::invalid, "invalid"},
     {Flag::divide_by_zero, "divide by zero"},
     {Flag::overflow, "overflow"},
     {Flag::underflow, "underflow"},
     {Flag::inexact, "inexact"}}};

/// One rounding, with everything that the sentences need.
struct Story {
  const Literal& literal;
  const NamedOrCustom& named;
  const Format& f;
  const Attributes& attributes;
  std::uint32_t random;
  Exact operand;
  Projected out;
  bool negative;  ///< the sign that rounding uses; it is false for formats without a sign
  Placement place;

  std::string sign() const { return negative ? "-" : ""; }
  std::string signed_text(const Dyadic& x) const {
    return (x.significand == 0 ? "" : sign()) + grid_text(x);
  }
  bool raised(Flags flag) const { return (out.flags & flag) != 0; }
  std::string_view name() const { return rounding_name(attributes.rounding); }
  RoundingRule::BySign rule() const { return rule_of(attributes.rounding).of(negative); }
};

Placement placement_of(const Exact& x, const Decimal& magnitude, const Format& f) {
  const int e = x.exponent + bit_width(x.significand) - 1;
  const int quantum = (e < f.emin() ? f.emin() : e) - f.fraction_bits();
  const std::uint64_t kept = cut(x, quantum - x.exponent).kept;
  const Dyadic lower{kept, quantum};
  return {lower,
          {2 * kept + 1, quantum - 1},
          {kept + 1, quantum},
          scaled(distance(magnitude, decimal_of(lower)), -quantum)};
}

/// Returns on which side of the tie the number lies.
std::string side_words(const Story& s) {
  const auto half = s.place.fraction <=> decimal_of(Dyadic{1, -1});
  const std::string_view side =
      half < 0 ? (s.negative ? "short of" : "below") : (s.negative ? "beyond" : "above");
  const std::string tie = s.signed_text(s.place.tie);
  return fmt::format("{} the tie{}{}", side, tie.size() <= 24 ? " " : "",
                     tie.size() <= 24 ? tie : "");
}

/// Returns the sum of the fraction that was cut off and of the random word, which decided.
std::string draw_words(const Story& s, bool up) {
  const int n = s.attributes.random_bits;
  const std::uint64_t one = std::uint64_t{1} << n;
  const int drop = s.place.lower.exponent - s.operand.exponent;
  const std::uint64_t f = discarded_fraction(cut(s.operand, drop), drop, n);
  const std::uint64_t r = s.random & (one - 1);
  return fmt::format("stochastic: f = {}, floor(f*2^{}) + r = {} + {} {} {}",
                     ulps_text(s.place.fraction), n, f, r, up ? "≥" : "<", one);
}

/// Returns why a number between two neighbours, but not at the tie of a direction to nearest, was
/// rounded to one of them, as if the range had no end.
std::string rule_words(const Story& s, bool up) {
  if (rule_of(s.attributes.rounding).is_to_nearest()) return side_words(s);
  if (s.rule().even == Up::drawn) return draw_words(s, up);
  if (s.rule().even == s.rule().odd) return std::string(s.name());
  return fmt::format("{} takes the {} significand", s.name(),
                     s.rule().odd == Up::never ? "odd" : "even");
}

/// Returns where a direction to nearest takes a tie; nothing for another direction, which has none.
std::string_view tie_words(const Story& s) {
  if (!rule_of(s.attributes.rounding).is_to_nearest()) return "";
  const bool odd_goes_up = s.rule().odd == Up::from_half;
  if (s.rule().even == s.rule().odd) return odd_goes_up ? "away from zero" : "toward zero";
  const bool both_odd = s.f.precision == 1 && s.place.lower.significand != 0;
  if (both_odd) return odd_goes_up ? "to the larger" : "to the smaller";
  return odd_goes_up ? "to even" : "to odd";
}

/// Returns "rounded away 2.44140625e-05 (0.4 ulp)" if the magnitude shrank, else "rounded up by" or
/// "rounded down by" in its place.
std::string moved_words(const Story& s, bool up) {
  const Decimal ulp = decimal_of(Dyadic{1, 0});
  const Decimal ulps = up ? distance(ulp, s.place.fraction) : s.place.fraction;
  const std::string amount = concise_text(scaled(ulps, s.place.lower.exponent));
  const std::string_view verb = !up          ? "rounded away"
                                : s.negative ? "rounded down by"
                                             : "rounded up by";
  return fmt::format("{} {} ({} ulp)", verb, amount, ulps_text(ulps));
}

std::string inexact_words(const Story& s, bool up) {
  const std::string_view where = tie_words(s);
  if (!where.empty() && s.place.fraction == decimal_of(Dyadic{1, -1})) {
    return fmt::format("a tie between {} and {}, {}", s.signed_text(s.place.lower),
                       s.signed_text(s.place.upper), where);
  }
  return fmt::format("{}, {}", moved_words(s, up), rule_words(s, up));
}

/// Returns where overflow begins under this rounding: "≥ 65520, the tie above the largest finite
/// 65504".
std::string overflow_reason(const Story& s) {
  const Format& f = s.f;
  const Dyadic max = largest_finite(f);
  const Dyadic next{max.significand + 1, max.exponent};
  const std::string end =
      fmt::format("the {} finite {}", s.negative ? "lowest" : "largest", s.signed_text(max));
  // Magnitudes are compared, so the signs of inequality are reversed for a negative number.
  const auto beyond = [&](bool inclusive, const Dyadic& x) {
    const std::string_view sign = s.negative ? (inclusive ? "≤" : "<") : (inclusive ? "≥" : ">");
    return fmt::format("{} {}", sign, s.signed_text(x));
  };
  const auto past_tie = [&](bool inclusive) {
    return fmt::format("{}, the tie {} {}", beyond(inclusive, overflow_tie(f)),
                       s.negative ? "below" : "above", end);
  };
  switch (f.max_significand() % 2 != 0 ? s.rule().odd : s.rule().even) {
    case Up::never: break;
    case Up::above_half: return past_tie(false);
    case Up::from_half: return past_tie(true);
    case Up::above_zero:
      return s.rule().even == s.rule().odd ? fmt::format("past {}, {}", end, s.name())
                                           : "past " + end;
    case Up::drawn:
      if (s.literal.magnitude < decimal_of(next)) {
        return fmt::format("past {}; {}", end, rule_words(s, true));
      }
      break;
  }
  return fmt::format("{}, a whole ulp past {}", beyond(true, next), end);
}

/// Returns what overflow gives, if it is not infinity.
std::string overflow_result(const Story& s) {
  const Kind kind = decode(s.out.bits, s.f).kind;
  if (kind == Kind::infinite) return "";
  if (kind == Kind::nan) return fmt::format("; {} has no infinity", s.named.name);
  if (s.attributes.saturation == Saturation::finite) return "; saturated";
  if (overflows_to_max(s.attributes.rounding, s.negative)) {
    return fmt::format("; {} delivers the largest finite", s.name());
  }
  return fmt::format("; {} has neither infinity nor NaN, so the largest finite", s.named.name);
}

std::string flushed_words(const Story& s) {
  Attributes gradual = s.attributes;
  gradual.flush_results = false;
  const Projected kept = project(s.operand, s.f, gradual, s.random);
  const std::string without = fmt::format("without FTZ {}", value_text(kept.bits, s.f));
  return fmt::format("flushed to zero (FTZ): {} {}, the smallest normal; {}",
                     s.negative ? "short of" : "below", s.signed_text({1, s.f.emin()}), without);
}

std::string finite_words(const Story& s) {
  const bool below_emin = s.literal.magnitude < decimal_of(Dyadic{1, s.f.emin()});
  if (below_emin && !s.f.has_zero) {
    return fmt::format("below 2^{}, the smallest number of {}, which stands for all down to zero",
                       s.f.emin(), s.named.name);
  }
  if (s.raised(Flag::overflow)) return overflow_reason(s) + overflow_result(s);
  if (!s.raised(Flag::inexact)) return "exact";
  const bool to_zero = decode(s.out.bits, s.f).kind == Kind::zero;
  if (s.attributes.flush_results && below_emin && to_zero) return flushed_words(s);
  return inexact_words(s, decimal_of(finite_magnitude(s.out.bits, s.f)) > s.literal.magnitude);
}

std::string zero_words(const Story& s) {
  if (!s.f.has_zero) {
    return fmt::format("{} has no zero: its smallest number 2^{}", s.named.name, s.f.emin());
  }
  return s.negative && !s.f.has_negative_zero() ? s.named.name + " has no -0" : "exact";
}

std::string infinity_words(const Story& s) {
  const Kind kind = decode(s.out.bits, s.f).kind;
  if (kind == Kind::infinite) return "exact";
  if (kind == Kind::nan) return fmt::format("{} has no infinity", s.named.name);
  if (s.attributes.saturation == Saturation::finite) return "saturated";
  return fmt::format("{} has neither infinity nor NaN: the largest finite", s.named.name);
}

std::string nan_words(const Story& s) {
  std::string start = s.operand.signaling ? "a signaling NaN raises invalid; " : "";
  if (!s.f.has_nan()) {
    return fmt::format("{} has no NaN: the largest finite, and invalid", s.named.name);
  }
  if (s.f.specials != Specials::ieee) {
    const bool negative = fields_of(s.out.bits, s.f).negative;
    const bool signed_pair = s.f.specials == Specials::nan_only && s.f.has_sign;
    return start + fmt::format("the {}NaN of {}",
                               !signed_pair ? "one "
                               : negative   ? "negative "
                                            : "positive ",
                               s.named.name);
  }
  switch (s.attributes.nan) {
    case NanResult::quiet: return start + "the default quiet NaN";
    case NanResult::nvidia: return start + "NVIDIA's NaN, all fraction bits ones";
    case NanResult::propagate: return start + "sign and leading payload bits kept";
  }
  return start;
}

std::string words_of(const Story& s) {
  switch (s.operand.kind) {
    case Kind::zero: return zero_words(s);
    case Kind::infinite: return infinity_words(s);
    case Kind::nan: return nan_words(s);
    case Kind::finite: break;
  }
  return finite_words(s);
}

}  // namespace

std::vector<std::string> names_of_flags(Flags flags) {
  std::vector<std::string> names;
  for (const auto& [flag, name] : flag_names) {
    if ((flags & flag) != 0) names.emplace_back(name);
  }
  return names;
}

Dyadic largest_finite(const Format& format) {
  return {format.max_significand(), format.emax() - format.fraction_bits()};
}

Dyadic overflow_tie(const Format& format) {
  const Dyadic max = largest_finite(format);
  return {2 * max.significand + 1, max.exponent - 1};
}

bool overflows(const Dyadic& x, const Format& format) {
  const Exact exact{.kind = Kind::finite, .exponent = x.exponent, .significand = x.significand};
  return (project(exact, format).flags & Flag::overflow) != 0;
}

RoundedLiteral round_literal(const Literal& literal, const NamedOrCustom& format,
                             const Attributes& attributes, std::uint32_t random) {
  const Format& f = format.format;
  const bool other = literal.encoding && literal.encoding->format;
  const Attributes between =
      other ? attributes_between(literal.encoding->format->format, f, attributes) : attributes;
  Story s{.literal = literal,
          .named = format,
          .f = f,
          .attributes = between,
          .random = random,
          .operand = operand_of(literal),
          .out = {},
          .negative = literal.negative && f.has_sign,
          .place = {}};
  s.out = project(s.operand, f, between, random);
  RoundedLiteral out{.bits = s.out.bits, .flags = s.out.flags};
  if (literal.kind == Kind::finite) {
    s.place = placement_of(s.operand, literal.magnitude, f);
    out.placement = s.place;
  }
  out.words = words_of(s);
  if (literal.negative && !f.has_sign && literal.kind != Kind::nan) {
    out.words += fmt::format("; the sign is ignored, {} has none", format.name);
  }
  const Kind kind = decode(s.out.bits, f).kind;
  const bool from_number = literal.kind == Kind::finite || literal.kind == Kind::zero;
  if (from_number && (kind == Kind::finite || kind == Kind::zero)) {
    out.rounded_away = distance(decimal_of(finite_magnitude(s.out.bits, f)), literal.magnitude);
  }
  return out;
}

}  // namespace binade
