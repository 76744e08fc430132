// SPDX-License-Identifier: Apache-2.0
//
// What converters make of infinities and NaNs: a table of rules for each, held against every one.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "lib/format/format_spec.h"
#include "lib/identify/conversion_search.h"
#include "lib/number/encoding_text.h"

namespace binade {
namespace {

struct SpecialRule {
  std::string name;
  std::function<std::uint64_t(std::uint64_t input)> code_of;
};

/// Holds the rules against the elements.
SpecialCodes held_against(const std::vector<SpecialRule>& rules, const Converted& given,
                          const std::vector<std::uint64_t>& elements) {
  SpecialCodes out{.elements = elements.size()};
  if (elements.empty()) return out;
  for (const SpecialRule& rule : rules) {
    std::uint64_t equal = 0;
    std::vector<CodeDifference> first;
    for (const std::uint64_t i : elements) {
      const std::uint64_t code = rule.code_of(given.inputs[i]);
      if (code == given.codes[i]) {
        ++equal;
      } else if (first.size() < 3) {
        first.push_back({i, given.inputs[i], code, given.codes[i]});
      }
    }
    if (equal == elements.size()) out.rules.push_back(rule.name);
    if (out.nearest.empty() || equal > out.equal) {
      out.nearest = rule.name;
      out.equal = equal;
      out.first = std::move(first);
    }
  }
  return out;
}

/// Returns the rules that give each sign one code, if the elements do.
std::vector<SpecialRule> constants_of(const Converted& given,
                                      const std::vector<std::uint64_t>& elements) {
  std::map<bool, std::uint64_t> codes;
  for (const std::uint64_t i : elements) {
    codes.emplace(fields_of(given.inputs[i], given.from).negative, given.codes[i]);
  }
  const auto text = [&](std::uint64_t code) {
    return fmt::format("{} ({})", hexadecimal(code, given.to), value_text(code, given.to));
  };
  if (codes.empty()) return {};
  const std::uint64_t one = codes.begin()->second;
  std::vector<SpecialRule> out{{"the code " + text(one), [one](std::uint64_t) { return one; }}};
  if (codes.size() > 1 && codes[true] != one) {
    const std::uint64_t negative = codes[true];
    const Format from = given.from;
    out.push_back({fmt::format("{} if positive, {} if negative", text(one), text(negative)),
                   [one, negative, from](std::uint64_t input) {
                     return fields_of(input, from).negative ? negative : one;
                   }});
  }
  return out;
}

/// Holds the rules against the elements, and if none explains them one code, or one for each sign.
SpecialCodes explained_codes(const std::vector<SpecialRule>& rules, const Converted& given,
                             const std::vector<std::uint64_t>& elements) {
  SpecialCodes out = held_against(rules, given, elements);
  if (elements.empty() || !out.rules.empty()) return out;
  SpecialCodes constant = held_against(constants_of(given, elements), given, elements);
  return constant.rules.empty() && constant.equal <= out.equal ? out : constant;
}

}  // namespace

SpecialCodes codes_of_infinities(const Converted& given,
                                 const std::vector<std::uint64_t>& elements) {
  const Format from = given.from, to = given.to;
  const auto negative = [from](std::uint64_t input) { return fields_of(input, from).negative; };
  std::vector<SpecialRule> rules;
  if (to.has_infinity()) {
    rules.push_back({"infinity", [=](std::uint64_t x) { return infinity_bits(to, negative(x)); }});
  }
  if (to.has_nan()) {
    const std::string name = to.has_infinity() ? "NaN" : "NaN, as it has no infinity";
    rules.push_back({name + ", with the sign", [=](std::uint64_t x) {
                       return nan_bits(to, NanResult::propagate, negative(x));
                     }});
    rules.push_back({name, [=](std::uint64_t) { return nan_bits(to, NanResult::quiet); }});
  }
  rules.push_back(
      {"the largest number", [=](std::uint64_t x) { return max_bits(to, negative(x)); }});
  if (to.has_zero) {
    rules.push_back({"zero", [=](std::uint64_t x) { return zero_bits(to, negative(x)); }});
  }
  return explained_codes(rules, given, elements);
}

SpecialCodes codes_of_nans(const Converted& given, const std::vector<std::uint64_t>& elements) {
  const Format from = given.from, to = given.to;
  std::vector<SpecialRule> rules;
  const auto by = [&](const char* name, NanResult nan) {
    rules.push_back(
        {name, [=](std::uint64_t x) { return convert(x, from, to, {.nan = nan}).bits; }});
  };
  if (to.has_nan()) {
    by(given.values ? "NaN" : "quiet", NanResult::quiet);
    if (!given.values) {
      by("nvidia", NanResult::nvidia);
      by("propagate", NanResult::propagate);
    }
    if (to.has_sign && !given.values && to.specials != Specials::fnuz) {
      rules.push_back({"quiet, with the sign", [=](std::uint64_t x) {
                         return nan_bits(to, NanResult::propagate, fields_of(x, from).negative);
                       }});
    }
  }
  const int dropped = from.fraction_bits() - to.fraction_bits();
  const bool same_range = from.exponent_bits == to.exponent_bits && from.specials == to.specials;
  if (!given.values && same_range && to.specials == Specials::ieee && dropped > 0) {
    const auto added = [=](std::uint64_t x, std::uint64_t carry) {
      const std::uint64_t kept = ((x >> from.padding_bits) + carry) >> dropped;
      return (kept & (~std::uint64_t{0} >> (64 - to.bits()))) << to.padding_bits;
    };
    rules.push_back({"cut off like a number, so that NaNs of low payloads become infinities",
                     [=](std::uint64_t x) { return added(x, 0); }});
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    rules.push_back({"rounded like a number, ties_to_even, so that some become infinities or zeros",
                     [=](std::uint64_t x) {
                       const std::uint64_t odd = x >> from.padding_bits >> dropped & 1;
                       return added(x, half - 1 + odd);
                     }});
    rules.push_back({"rounded like a number, ties_to_away, so that some become infinities or zeros",
                     [=](std::uint64_t x) { return added(x, half); }});
  }
  rules.push_back({"the largest number", [=](std::uint64_t) { return max_bits(to, false); }});
  rules.push_back({"the largest number, with the sign",
                   [=](std::uint64_t x) { return max_bits(to, fields_of(x, from).negative); }});
  if (to.has_zero) {
    rules.push_back({"zero", [=](std::uint64_t) { return zero_bits(to, false); }});
  }
  SpecialCodes out = explained_codes(rules, given, elements);
  const bool all_nan = std::ranges::all_of(elements, [&](std::uint64_t i) {
    return kind_of(fields_of(given.codes[i], to), to) == Kind::nan;
  });
  if (!elements.empty() && out.rules.empty() && all_nan) {
    out.rules.push_back("NaNs, whose bits follow no rule of the table");
  }
  return out;
}

}  // namespace binade
