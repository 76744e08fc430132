// SPDX-License-Identifier: Apache-2.0
//
// Writes what was found of a quantizer as JSON for scripts.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "lib/number/encoding_text.h"
#include "lib/scales/scale_text.h"

namespace binade {
namespace {

using ScaleJson = nlohmann::ordered_json;

ScaleJson array_json(const StoredArray& x) { return {{"dtype", x.dtype.name}, {"shape", x.shape}}; }

ScaleJson reading_json(const ScaleFinding& x, const auto& fit) {
  const ScaleReading& r = x.readings[fit.reading];
  const StoredOrder& order = r.orders[fit.order];
  return {{"format", r.format.name},          {"axis", r.axis},
          {"transposed", r.transposed},       {"scale_layout", order.layout->name},
          {"same_scale_layouts", order.same}, {"scale_layout_of_transpose", order.of_transpose},
          {"scale_shape", r.view.scale_shape}};
}

ScaleJson tensor_scale_json(const TensorScaleChoice& x) {
  constexpr std::array<const char*, 4> fits{"none", "absent", "equal", "different"};
  constexpr std::array<const char*, 3> parts{"decode", "encode", "amax"};
  ScaleJson out{{"fit", fits[static_cast<std::size_t>(x.fit)]}, {"part", nullptr}};
  if (x.fit == TensorScaleFit::equal) out["part"] = parts[static_cast<std::size_t>(x.part)];
  return out;
}

ScaleJson explaining_json(const ScaleFinding& x, const Quantized& given,
                          const ExplainingRules& rules) {
  const ScaleRuleFit& fit = *rules.first;
  ScaleJson roundings_of = ScaleJson::array();
  for (const Rounding r : rules.roundings) roundings_of.push_back(rounding_name(r));
  const std::string call = quantize_call(x, given, rules);
  return {{"rules", rules.rules},
          {"reading", reading_json(x, fit)},
          {"tensor_scale", tensor_scale_json(fit.tensor)},
          {"roundings", roundings_of},
          {"codes", fit.codes->name},
          {"step", fit.step->name},
          {"quantize", call.empty() ? ScaleJson(nullptr) : ScaleJson(call)}};
}

ScaleJson agreement_json(const ScaleAgreement& x) { return {{"equal", x.equal}, {"of", x.of}}; }

ScaleJson nearest_json(const ScaleFinding& x, const ScaleRuleFit& fit) {
  const ScaleReading& r = x.readings[fit.reading];
  const Format& scale = r.format.format.scale;
  const Format& element = r.format.format.element;
  ScaleJson rules = ScaleJson::array();
  for (const NamedScaleRule* rule : fit.rules) rules.push_back(rule->name);
  ScaleJson out{{"rules", rules},
                {"reading", reading_json(x, fit)},
                {"tensor_scale", tensor_scale_json(fit.tensor)},
                {"scales", agreement_json(fit.scales)},
                {"codes", agreement_json(fit.elements)},
                {"blocks", fit.blocks},
                {"first_scale", nullptr},
                {"first_code", nullptr}};
  if (fit.scale) {
    out["first_scale"] = {{"block", fit.scale->block},
                          {"amax", hexadecimal(fit.scale->amax, binary32)},
                          {"expected", hexadecimal(fit.scale->expected, scale)},
                          {"stored", hexadecimal(fit.scale->stored, scale)},
                          {"words", binades_text(*fit.scale, scale)}};
  }
  if (fit.element) {
    out["first_code"] = {{"element", fit.element->element},
                         {"block", fit.element->block},
                         {"number", hexadecimal(fit.element->x, binary32)},
                         {"scale", hexadecimal(fit.element->scale, scale)},
                         {"expected", hexadecimal(fit.element->expected, element)},
                         {"stored", hexadecimal(fit.element->stored, element)}};
  }
  return out;
}

}  // namespace

ScaleJson scales_json(const ScaleFinding& x, const Quantized& given, std::size_t show) {
  ScaleJson layouts = ScaleJson::array(), explain = ScaleJson::array(),
            nearest = ScaleJson::array(), hypotheses = ScaleJson::array();
  for (const CheckpointLayout* layout : given.layouts) layouts.push_back(layout->name);
  const std::vector<ExplainingRules> groups = explaining_rules(x);
  for (std::size_t i = 0; i < std::min(groups.size(), std::max<std::size_t>(show, 1)); ++i) {
    explain.push_back(explaining_json(x, given, groups[i]));
  }
  for (const ScaleRuleFit& fit : x.nearest) nearest.push_back(nearest_json(x, fit));
  constexpr std::array<const char*, 3> parts{"scales", "codes", "tensor_scale"};
  for (const ScaleHypothesis& h : x.hypotheses) {
    hypotheses.push_back({{"words", h.words},
                          {"what", parts[static_cast<std::size_t>(h.part)]},
                          {"kind", h.kind},
                          {"rule", h.rule->name},
                          {"reading", reading_json(x, h)},
                          {"factor", h.factor == 0 ? ScaleJson(nullptr) : ScaleJson(h.factor)},
                          {"equal", h.equal},
                          {"of", h.of}});
  }
  return {{"name", given.name},
          {"dtype", given.dtype.name},
          {"shape", given.shape},
          {"codes", array_json(given.codes)},
          {"scales", array_json(given.scales)},
          {"tensor_scale",
           given.tensor ? ScaleJson(hexadecimal(*given.tensor, binary32)) : ScaleJson(nullptr)},
          {"layouts", layouts},
          {"readings", x.readings.size()},
          {"rules", x.rules},
          {"codings", x.codings},
          {"conclusion", scale_conclusion_name(x.conclusion())},
          {"explaining", groups.size()},
          {"explain", explain},
          {"nearest", nearest},
          {"hypotheses", hypotheses}};
}

ScaleJson scales_document(const ScaleJson& tensors, const JointRules& joint,
                          const std::vector<std::string>& left) {
  return {{"schema", "binade.scales/1"},
          {"tensors", tensors},
          {"rules", joint.rules},
          {"skipped", left}};
}

}  // namespace binade
