// SPDX-License-Identifier: Apache-2.0
//
// The table of the parameters of loss scale policies; a row sets and reads one member of
// LossScalePolicy.
#include "lib/amp/policy_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {

std::span<const PolicyParameter> policy_parameters() {
  using enum ParameterKind;
  using Policy = LossScalePolicy;
  constexpr double tiny = 0x1p-126, huge = 0x1p127, many = 1 << 30;
  static constexpr std::array<PolicyParameter, 11> parameters{{
      {{"init_scale", "the first scale", number, tiny, huge},
       [](Policy& p, double x) { p.init_scale = x; },
       [](const Policy& p) -> std::optional<double> { return p.init_scale; }},
      {{"growth_factor", "the factor by which the scale grows", number, 1.0000001, huge},
       [](Policy& p, double x) { p.growth_factor = x; },
       [](const Policy& p) -> std::optional<double> { return p.growth_factor; }},
      {{"backoff_factor", "an inf multiplies the scale by this, or divides it if this is above 1",
        number, tiny, huge},
       [](Policy& p, double x) {
         if (x == 1) {
           throw Error(
               "loss scale: backoff_factor 1 never backs off: give a factor below 1, or a divisor "
               "above");
         }
         p.backoff_factor = x;
         p.backoff_divides = x > 1;
       },
       [](const Policy& p) -> std::optional<double> { return p.backoff_factor; }},
      {{"growth_interval", "steps without an inf until the scale grows", whole, 1, many},
       [](Policy& p, double x) { p.growth_interval = static_cast<std::int64_t>(x); },
       [](const Policy& p) -> std::optional<double> {
         return static_cast<double>(p.growth_interval);
       }},
      {{"hysteresis", "the inf with this number is the first that lowers the scale", whole, 1,
        many},
       [](Policy& p, double x) { p.hysteresis = static_cast<std::int64_t>(x); },
       [](const Policy& p) -> std::optional<double> { return static_cast<double>(p.hysteresis); }},
      {{"consecutive_hysteresis",
        "each step without an inf, not only a growth, restarts the count of infs", truth, 0, 1},
       [](Policy& p, double x) {
         const bool refills = p.refill != HysteresisRefill::growth;
         if (refills != (x != 0)) {
           p.refill = x != 0 ? HysteresisRefill::good_step : HysteresisRefill::growth;
         }
       },
       [](const Policy& p) -> std::optional<double> {
         return p.refill != HysteresisRefill::growth ? 1.0 : 0.0;
       }},
      {{"min_scale", "the smallest scale", number, tiny, huge},
       [](Policy& p, double x) { p.floor = x; },
       [](const Policy& p) -> std::optional<double> { return p.floor; }},
      {{"max_scale", "the largest scale", number, tiny, huge},
       [](Policy& p, double x) { p.cap = x; },
       [](const Policy& p) -> std::optional<double> { return p.cap; }},
      {{"threshold", "fairseq: no inf lowers the scale below this", number, tiny, huge},
       [](Policy& p, double x) { p.threshold = x; },
       [](const Policy& p) -> std::optional<double> { return p.threshold; }},
      {{"raise_at_min_scale", "an inf at min_scale ends the training", truth, 0, 1},
       [](Policy& p, double x) {
         if (x == 0) p.on_floor = OnFloor::stay;
         if (x != 0 && p.on_floor == OnFloor::stay) p.on_floor = OnFloor::raise_if_there;
       },
       [](const Policy& p) -> std::optional<double> {
         return p.on_floor != OnFloor::stay ? 1.0 : 0.0;
       }},
      {{"tolerance", "fairseq: an inf lowers the scale only if their share is this or more", number,
        0, 1},
       [](Policy& p, double x) { p.tolerance = x; },
       [](const Policy& p) -> std::optional<double> { return p.tolerance; }},
  }};
  return parameters;
}

void check_parameter(const ScalerParameter& parameter, double value) {
  if (value >= parameter.least && value <= parameter.most) return;
  throw Error(fmt::format("loss scale: {} {:g}: give a number from {:g} to {:g}", parameter.name,
                          value, parameter.least, parameter.most));
}

void check_ends(double min_scale, double max_scale) {
  if (min_scale <= max_scale) return;
  throw Error(fmt::format("loss scale: min_scale {:g} lies above max_scale {:g}: exchange them",
                          min_scale, max_scale));
}

std::vector<std::string_view> parameters_of(const LossScalePolicy& policy) {
  if (policy.name == "none") return {};
  if (policy.growth_rule == GrowthRule::never) return {"init_scale"};
  return names_of(policy_parameters());
}

namespace {

/// Throws Error if the initial scale is below a min_scale that was given, or above the cap. It may
/// lie below the floor of the policy's own row: then an inf raises the scale to that floor, as in
/// the originals.
void check_order(const LossScalePolicy& policy, const ScalerParameters& parameters) {
  const bool is_low = parameters.contains("min_scale") && policy.init_scale < *policy.floor;
  const bool is_high = policy.cap && policy.init_scale > *policy.cap && !policy.caps_init;
  if (!is_low && !is_high) return;
  throw Error(fmt::format("loss scale: {} begins at {:g}, {} {:g}: give another init_scale, too",
                          policy.name, policy.init_scale,
                          is_low ? "below min_scale" : "above max_scale",
                          is_low ? *policy.floor : *policy.cap));
}

}  // namespace

LossScalePolicy with_parameters(LossScalePolicy policy, const ScalerParameters& parameters) {
  for (const PolicyParameter& parameter : policy_parameters()) {
    const auto given = parameters.find(parameter.name);
    if (given == parameters.end()) continue;
    const double value = given->second;
    check_parameter(parameter, value);
    parameter.set(policy, value);
  }
  if (policy.floor && policy.cap) check_ends(*policy.floor, *policy.cap);
  check_order(policy, parameters);
  if (policy.on_floor != OnFloor::stay && !policy.floor) {
    throw Error("loss scale: raise_at_min_scale needs a min_scale: give both");
  }
  return policy;
}

}  // namespace binade
