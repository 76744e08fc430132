// SPDX-License-Identifier: Apache-2.0
//
// Writes a converter's rules as JSON for scripts.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "lib/format/format_spec.h"
#include "lib/identify/conversion_text.h"
#include "lib/number/encoding_text.h"

namespace binade {
namespace {

nlohmann::ordered_json conversion_json(const Conversion& how) {
  constexpr std::array<const char*, 3> overflows{"by_rounding", "infinity", "largest"};
  constexpr std::array<const char*, 4> flushes{"none", "after_rounding", "before_rounding",
                                               "subnormal_codes"};
  nlohmann::ordered_json out{
      {"words", conversion_text(how)},        {"steps", nlohmann::ordered_json::array()},
      {"flush_operands", how.flush_operands}, {"signed_nan", how.signed_nan},
      {"positive_zero", how.positive_zero},   {"quantize", nullptr}};
  for (const ConversionStep& step : how.steps) {
    out["steps"].push_back({{"format", spec_of(step.to)},
                            {"rounding", rounding_name(step.rounding)},
                            {"overflow", overflows[static_cast<std::size_t>(step.overflow)]},
                            {"flush_results", flushes[static_cast<std::size_t>(step.flushed)]}});
  }
  const std::string options = quantize_options(how);
  if (!options.empty()) out["quantize"] = "binade quantize IN OUT " + options;
  return out;
}

nlohmann::ordered_json difference_json(const CodeDifference& x, const Converted& given) {
  return {{"element", x.element},
          {"input", hexadecimal(x.input, given.from)},
          {"expected", hexadecimal(x.expected, given.to)},
          {"found", hexadecimal(x.found, given.to)},
          {"words", difference_text(x, given)}};
}

nlohmann::ordered_json differences_json(const std::vector<CodeDifference>& list,
                                        const Converted& given, std::size_t show) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < std::min(show, list.size()); ++i) {
    out.push_back(difference_json(list[i], given));
  }
  return out;
}

nlohmann::ordered_json specials_json(const SpecialCodes& x, const Converted& given,
                                     std::size_t show) {
  return {{"elements", x.elements},
          {"rules", x.rules},
          {"nearest",
           x.nearest.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(x.nearest)},
          {"equal", x.equal},
          {"first", differences_json(x.rules.empty() ? x.first : std::vector<CodeDifference>{},
                                     given, show)}};
}

nlohmann::ordered_json attribute_json(const DecidedAttribute& x, const Converted& given) {
  nlohmann::ordered_json out{{"name", x.name}, {"value", nullptr}, {"open", nullptr}};
  out[x.open.empty() ? "value" : "open"] = x.open.empty() ? x.value : x.open;
  out["others"] = nlohmann::ordered_json::array();
  for (const ExcludedChoice& other : x.others) {
    nlohmann::ordered_json row{
        {"value", other.words}, {"elements", other.elements}, {"first", nullptr}};
    if (other.first) row["first"] = difference_json(*other.first, given);
    out["others"].push_back(row);
  }
  return out;
}

}  // namespace

nlohmann::ordered_json finding_json(const ConversionFinding& x, const Converted& given,
                                    std::size_t show) {
  using Json = nlohmann::ordered_json;
  Json out{{"schema", "binade.check/1"},
           {"from", spec_of(given.from)},
           {"to", spec_of(given.to)},
           {"elements", x.elements},
           {"finite", x.finite},
           {"rules", x.tried},
           {"conclusion", conclusion_name(x.conclusion())},
           {"explaining", x.explaining.size()},
           {"unchecked", x.unchecked},
           {"explain", Json::array()},
           {"same", Json::array()},
           {"attributes", Json::array()},
           {"nearest", nullptr},
           {"infinities", specials_json(x.infinities, given, show)},
           {"nans", specials_json(x.nans, given, show)},
           {"hypotheses", Json::array()}};
  for (std::size_t i = 0; i < std::min(show + 1, x.explaining.size()); ++i) {
    out["explain"].push_back(conversion_json(x.explaining[i]));
  }
  for (std::size_t i = 0; i < std::min(show, x.same.size()); ++i) {
    out["same"].push_back(conversion_json(x.same[i]));
  }
  for (const DecidedAttribute& attribute : x.decided) {
    out["attributes"].push_back(attribute_json(attribute, given));
  }
  if (x.nearest) {
    out["nearest"] = {{"rule", conversion_json(*x.nearest)},
                      {"equal", x.equal},
                      {"first", differences_json(x.first, given, show)}};
  }
  for (const ConversionHypothesis& h : x.hypotheses) {
    out["hypotheses"].push_back({{"words", h.words}, {"equal", h.equal}, {"elements", h.elements}});
  }
  return out;
}

}  // namespace binade
