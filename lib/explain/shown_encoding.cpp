// SPDX-License-Identifier: Apache-2.0
//
// Decodes one encoding, and writes it as text and as JSON.
#include "lib/explain/shown_encoding.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "emulate/quantize.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

std::string_view saturation_name(Saturation saturation) {
  return saturation == Saturation::finite ? "finite" : "none";
}

/// Returns the encoding `step` places further from zero with the same sign, if it is a number or
/// infinity.
std::optional<std::uint64_t> outward(const Fields& x, const Format& f, int step) {
  const std::uint64_t index = x.exponent << f.fraction_bits() | x.fraction;
  const std::uint64_t moved = step > 0 ? index + 1 : index - 1;
  if (moved >> (f.exponent_bits + f.fraction_bits()) != 0) return std::nullopt;
  const Fields next{x.negative, moved >> f.fraction_bits(), moved & f.fraction_mask()};
  const Kind kind = kind_of(next, f);
  if (kind == Kind::nan)
    return f.specials == Specials::fnuz && moved == 0 ? std::optional(zero_bits(f, false))
                                                      : std::nullopt;
  return bits_of(next, f);
}

/// Returns the next number up (or down) in value; the neighbours of zero are the smallest numbers.
std::optional<std::uint64_t> neighbour(const Fields& x, const Format& f, bool up) {
  if (kind_of(x, f) == Kind::zero) {
    if (!up && !f.has_sign) return std::nullopt;
    return min_bits(f, !up);
  }
  const bool out = up != x.negative;
  // the smallest magnitude of a format without zero
  const bool lowest = x.exponent == 0 && x.fraction == 0;
  if (!out && lowest) {
    return f.has_sign ? std::optional(min_bits(f, !x.negative)) : std::nullopt;
  }
  return outward(x, f, out ? 1 : -1);
}

std::string_view class_of(const ShownEncoding& x) {
  const Format& f = x.format.format;
  switch (x.kind) {
    case Kind::zero: return x.fields.negative ? "negative zero" : "zero";
    case Kind::infinite: return "infinity";
    case Kind::nan:
      if (f.specials != Specials::ieee) return "NaN";
      return decode(x.rounded.bits, f).signaling ? "signaling NaN" : "quiet NaN";
    case Kind::finite: break;
  }
  return is_subnormal(x.rounded.bits, f) ? "subnormal" : "normal";
}

std::string class_words(const ShownEncoding& x) {
  const Format& f = x.format.format;
  if (!is_subnormal(x.rounded.bits, f)) return std::string(x.class_name);
  return fmt::format("subnormal: {} of {} significand bits left", bit_width(x.fields.fraction),
                     f.precision);
}

/// Returns the exponent of the hidden bit's place.
int exponent_of(const ShownEncoding& x) {
  const Format& f = x.format.format;
  return f.has_zero && x.fields.exponent == 0 ? f.emin()
                                              : static_cast<int>(x.fields.exponent) - f.bias;
}

/// Returns the significand: 1.599609375, or 0.75 for a subnormal.
Dyadic significand_of(const ShownEncoding& x) {
  return {x.magnitude.significand, -x.format.format.fraction_bits()};
}

/// Returns the bits of sign, exponent, fraction and padding, each if the format has it: "0",
/// "01011", "1001100110".
std::vector<std::string> groups_of(const ShownEncoding& x) {
  const Format& f = x.format.format;
  const auto binary = [](std::uint64_t value, int width) {
    return fmt::format("{:0{}b}", value, width);
  };
  std::vector<std::string> groups;
  if (f.has_sign) groups.push_back(binary(x.fields.negative ? 1 : 0, 1));
  groups.push_back(binary(x.fields.exponent, f.exponent_bits));
  if (f.precision > 1) groups.push_back(binary(x.fields.fraction, f.fraction_bits()));
  if (f.padding_bits > 0) groups.push_back(binary(0, f.padding_bits));
  return groups;
}

std::string exponent_note(const ShownEncoding& x) {
  const Format& f = x.format.format;
  std::string field = fmt::format("exponent field {}", x.fields.exponent);
  if (x.kind == Kind::infinite) return field + ", all ones: infinity or NaN";
  if (x.kind == Kind::nan && f.specials != Specials::fnuz) return field + ", all ones";
  if (x.kind == Kind::nan) return field;
  if (f.has_zero && x.fields.exponent == 0) {
    return fmt::format("{}: zero or subnormal, exponent emin = {}", field, f.emin());
  }
  return fmt::format("{} {} bias {} = {}", field, f.bias < 0 ? "+" : "-",
                     f.bias < 0 ? -f.bias : f.bias, exponent_of(x));
}

std::string fraction_note(const ShownEncoding& x) {
  const Format& f = x.format.format;
  std::string field = fmt::format("fraction {} / 2^{}", x.fields.fraction, f.fraction_bits());
  if (is_subnormal(x.rounded.bits, f)) return field + ", no hidden bit";
  if (x.kind == Kind::finite) {
    return fmt::format("{}: significand {}", field, concise_text(decimal_of(significand_of(x))));
  }
  if (x.kind != Kind::nan || f.specials == Specials::fnuz) return field;
  if (f.specials == Specials::nan_only) return field + ", all ones: NaN";
  const bool quiet = (x.fields.fraction >> (f.fraction_bits() - 1)) != 0;
  return fmt::format("{}: NaN, quiet bit {}", field, quiet ? 1 : 0);
}

std::string sign_note(const ShownEncoding& x) {
  if (x.kind == Kind::nan && x.format.format.specials == Specials::fnuz) {
    return "sign bit alone: NaN, where -0 would be";
  }
  return x.fields.negative ? "sign -" : "sign +";
}

/// Returns the bits, and a line down from each group of them to its meaning.
std::vector<std::string> picture(const ShownEncoding& x) {
  const Format& f = x.format.format;
  const std::vector<std::string> groups = groups_of(x);
  std::vector<std::string> notes;
  if (f.has_sign) notes.push_back(sign_note(x));
  notes.push_back(exponent_note(x));
  if (f.precision > 1) notes.push_back(fraction_note(x));
  const std::string start = bits_text(x.rounded.bits, f) + " = ";
  std::vector<std::string> lines = {fmt::format("{}{}", start, fmt::join(groups, " "))};
  for (std::size_t note = notes.size(); note-- > 0;) {
    std::string line(start.size(), ' ');
    for (std::size_t i = 0; i < note; ++i) line += left_aligned("│", groups[i].size() + 1);
    lines.push_back(line + "╰ " + notes[note]);
  }
  return lines;
}

/// Returns a long run of digits, cut into lines.
std::vector<std::string> folded(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size(); i += width) lines.push_back(text.substr(i, width));
  return lines;
}

std::string headline(const ShownEncoding& x) {
  constexpr std::size_t longest = 64;
  std::string typed = x.literal.text;
  if (typed.size() > longest) {
    typed = typed.substr(0, longest / 2) + "..." + typed.substr(typed.size() - longest / 4);
  }
  const std::string value = value_with_digits(x.rounded.bits, x.format.format);
  if (x.rounded.words.empty()) return fmt::format("{} = {}", typed, value);
  if (typed == value) return fmt::format("{}: {}", typed, x.rounded.words);
  return fmt::format("{} → {}: {}", typed, value, x.rounded.words);
}

std::string conditions(const ShownEncoding& x) {
  if (x.rounded.words.empty()) return "";
  std::string out(rounding_name(x.attributes.rounding));
  if (x.attributes.rounding == Rounding::stochastic) {
    const std::uint64_t mask = (std::uint64_t{1} << x.attributes.random_bits) - 1;
    out += fmt::format(", n = {}, r = {}", x.attributes.random_bits, x.random & mask);
  }
  if (x.attributes.saturation == Saturation::finite) out += ", saturating";
  if (x.attributes.flush_results) out += ", FTZ";
  return out;
}

std::string listed_flags(Flags flags) {
  const std::vector<std::string> names = names_of_flags(flags);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// The lines of the block, each with its name in the left column; an empty name continues the line
/// above.
using Lines = std::vector<std::pair<std::string, std::string>>;

void add(Lines& lines, const std::string& name, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) lines.emplace_back(i == 0 ? name : "", texts[i]);
}

std::string ulp_text(int exponent) {
  const Dyadic ulp{1, exponent};
  const std::string formula = formula_text(ulp);
  const Decimal exact = decimal_of(ulp);
  const bool few = digits_of(exact).digits.size() <= 10;
  return few ? fmt::format("{} = {}", formula, exact_text(exact))
             : fmt::format("{} ≈ {}", formula, short_text(exact));
}

void add_number(Lines& lines, const ShownEncoding& x) {
  const Format& f = x.format.format;
  const std::string sign = x.fields.negative ? "-" : "";
  add(lines, "value", folded(sign + exact_text(decimal_of(x.magnitude)), 88));
  if (x.kind == Kind::finite) {
    add(lines, "", {sign + hex_text(x.magnitude)});
    const bool subnormal = is_subnormal(x.rounded.bits, f);
    const Dyadic significand = subnormal ? Dyadic{x.fields.fraction, 0} : significand_of(x);
    add(lines, "",
        {fmt::format("{}{} * 2^{}", sign, exact_text(decimal_of(significand)),
                     subnormal ? *x.ulp_exponent : exponent_of(x))});
  }
  add(lines, "ulp", {ulp_text(*x.ulp_exponent)});
}

void add_neighbours(Lines& lines, const ShownEncoding& x) {
  const Format& f = x.format.format;
  const auto next = [&](std::optional<std::uint64_t> bits, const char* none) {
    if (!bits) return std::string(none);
    return fmt::format("{}  {}", bits_text(*bits, f), value_with_digits(*bits, f));
  };
  add(lines, "below", {next(x.below, "nothing")});
  add(lines, "above", {next(x.above, "nothing")});
}

bool is_number(Kind kind) { return kind == Kind::finite || kind == Kind::zero; }

Json json_value(std::uint64_t bits, const Format& f) {
  const Exact x = decode(bits, f);
  if (!is_number(x.kind)) return value_text(bits, f);
  return json_number(decimal_of(finite_magnitude(bits, f)), x.negative);
}

Json json_neighbour(std::optional<std::uint64_t> bits, const Format& f) {
  if (!bits) return nullptr;
  return Json{{"bits", bits_text(*bits, f)}, {"value", json_value(*bits, f)}};
}

Json json_rounding(const ShownEncoding& x) {
  Json out{{"words", x.rounded.words}, {"flags", names_of_flags(x.rounded.flags)}};
  const bool negative = x.literal.negative && x.format.format.has_sign;
  if (x.rounded.placement) {
    const Placement& p = *x.rounded.placement;
    out["lower"] = json_number(decimal_of(p.lower), negative);
    out["tie"] = json_number(decimal_of(p.tie), negative);
    out["upper"] = json_number(decimal_of(p.upper), negative);
    out["fraction_of_ulp"] = json_number(p.fraction);
  }
  if (x.rounded.rounded_away) out["rounded_away"] = json_number(*x.rounded.rounded_away);
  return out;
}

std::uint32_t random_of(const ShowQuestion& question, const Attributes& attributes) {
  check_random(attributes, question.random.has_value());
  if (attributes.rounding != Rounding::stochastic) return 0;
  const std::int64_t most = (std::int64_t{1} << attributes.random_bits) - 1;
  if (!question.random) {
    throw Error("stochastic rounding needs its random number: add --random R with R from 0 to " +
                std::to_string(most));
  }
  if (*question.random < 0 || *question.random > most) {
    throw Error("--random " + std::to_string(*question.random) + ": from 0 to " +
                std::to_string(most) + " with --random-bits " +
                std::to_string(attributes.random_bits));
  }
  return static_cast<std::uint32_t>(*question.random);
}

}  // namespace

nlohmann::ordered_json json_number(const Decimal& x, bool negative) {
  const Projected nearest = project(to_exact(x, negative), binary64);
  if (nearest.flags == 0) return std::bit_cast<double>(nearest.bits);
  return (negative ? "-" : "") + exact_text(x);
}

ShownEncoding shown(const Literal& literal, const NamedOrCustom& format,
                    const Attributes& attributes, std::uint32_t random) {
  const Format& f = format.format;
  ShownEncoding x{.literal = literal, .format = format, .attributes = attributes, .random = random};
  if (literal.encoding && !literal.encoding->format) {
    const int width = f.bits() + f.padding_bits;
    if (width < 64 && literal.encoding->bits >> width != 0) {
      throw Error(
          fmt::format("value '{}': more than the {} bits of {}", literal.text, width, format.name));
    }
    x.rounded.bits = bits_of(fields_of(literal.encoding->bits, f), f);
  } else {
    x.rounded = round_literal(literal, format, attributes, random);
  }
  x.fields = fields_of(x.rounded.bits, f);
  x.kind = kind_of(x.fields, f);
  x.class_name = class_of(x);
  if (x.kind == Kind::nan) return x;
  x.below = neighbour(x.fields, f, false);
  x.above = neighbour(x.fields, f, true);
  if (is_number(x.kind)) {
    x.magnitude = finite_magnitude(x.rounded.bits, f);
    x.ulp_exponent = exponent_of(x) - f.fraction_bits();
  }
  return x;
}

std::string shown_encoding_text(const ShownEncoding& x) {
  Lines lines;
  const std::string how = conditions(x);
  add(lines, "format", {x.format.name + (how.empty() ? "" : ", " + how)});
  add(lines, "bits", picture(x));
  add(lines, "class", {class_words(x)});
  if (is_number(x.kind)) add_number(lines, x);
  if (x.kind != Kind::nan) add_neighbours(lines, x);
  if (!x.rounded.words.empty()) add(lines, "flags", {listed_flags(x.rounded.flags)});
  std::string out = headline(x) + "\n";
  for (const auto& [name, text] : lines) out += fmt::format("  {:<8}{}\n", name, text);
  return out;
}

nlohmann::ordered_json shown_encoding_json(const ShownEncoding& x) {
  const Format& f = x.format.format;
  Json out{{"input", x.literal.text}, {"format", x.format.name}};
  const bool own_encoding = x.literal.encoding && !x.literal.encoding->format;
  if (!own_encoding) {
    out["rounding"] = rounding_name(x.attributes.rounding);
    if (x.attributes.rounding == Rounding::stochastic) {
      out["random_bits"] = x.attributes.random_bits;
      out["random"] = x.random;
    }
    out["saturation"] = saturation_name(x.attributes.saturation);
    out["ftz"] = x.attributes.flush_results;
  }
  out["bits"] = bits_text(x.rounded.bits, f);
  out["binary"] = fmt::format("{}", fmt::join(groups_of(x), " "));
  out["sign"] = f.has_sign ? Json(x.fields.negative ? 1 : 0) : Json(nullptr);
  out["exponent_field"] = x.fields.exponent;
  out["fraction_field"] = x.fields.fraction;
  out["bias"] = f.bias;
  out["class"] = x.class_name;
  out["value"] = json_value(x.rounded.bits, f);
  if (is_number(x.kind)) {
    const std::string sign = x.fields.negative ? "-" : "";
    out["decimal"] = sign + exact_text(decimal_of(x.magnitude));
    out["hex"] = sign + hex_text(x.magnitude);
    out["exponent"] = exponent_of(x);
    out["significand"] = json_number(decimal_of(significand_of(x)));
    const bool subnormal = is_subnormal(x.rounded.bits, f);
    out["significand_bits"] = subnormal ? bit_width(x.fields.fraction) : f.precision;
    out["ulp"] = json_number(decimal_of(Dyadic{1, *x.ulp_exponent}));
  }
  out["below"] = json_neighbour(x.below, f);
  out["above"] = json_neighbour(x.above, f);
  if (!own_encoding) out["result_of_rounding"] = json_rounding(x);
  return out;
}

std::vector<ShownEncoding> shown_values(const ShowQuestion& question) {
  if (question.values.empty()) {
    throw Error("show needs a value, as in: binade show 0.1 --format binary16");
  }
  if (question.formats.empty()) {
    throw Error("show needs a format, as in: binade show " + printable(question.values[0]) +
                " --format binary16");
  }
  const Attributes attributes = attributes_of(question.attributes);
  const std::uint32_t random = random_of(question, attributes);
  std::vector<NamedOrCustom> chosen;
  for (const std::string& text : question.formats) chosen.push_back(parse_format(text));
  check_effects(attributes, chosen);
  std::vector<ShownEncoding> all;
  for (const std::string& value : question.values) {
    const Literal literal = parse_literal(value);
    for (const NamedOrCustom& format : chosen) {
      all.push_back(shown(literal, format, attributes, random));
    }
  }
  return all;
}

std::string shown_encodings_text(std::span<const ShownEncoding> all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    out += (i > 0 ? "\n" : "") + shown_encoding_text(all[i]);
  return out;
}

nlohmann::ordered_json shown_encodings_json(std::span<const ShownEncoding> all) {
  nlohmann::ordered_json out{{"schema", "binade.show/1"},
                             {"values", nlohmann::ordered_json::array()}};
  for (const ShownEncoding& x : all) out["values"].push_back(shown_encoding_json(x));
  return out;
}

}  // namespace binade
