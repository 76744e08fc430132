// SPDX-License-Identifier: Apache-2.0
//
// What of a loss scale policy can be set, by one name for all frameworks: the constructors' arguments of the
// originals, and what these keep fixed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/amp/loss_scaler.h"

namespace binade {

/// Values by name; a truth value is 0 or 1.
using ScalerParameters = std::map<std::string, double, std::less<>>;

enum class ParameterKind : std::uint8_t { number, whole, truth };

/// One parameter of a scaler.
struct ScalerParameter {
  std::string_view name, what;
  ParameterKind kind;
  double least, most;
};

struct PolicyParameter : ScalerParameter {
  void (*set)(LossScalePolicy& policy, double value);
  std::optional<double> (*get)(
      const LossScalePolicy& policy);  ///< none: the policy has no such end
};

/// Error for a value outside of the parameter's range.
void check_parameter(const ScalerParameter& parameter, double value);
/// Error for a least scale above the largest.
void check_ends(double min_scale, double max_scale);

/// init_scale, growth_factor, backoff_factor, growth_interval, hysteresis, consecutive_hysteresis, min_scale,
/// max_scale, threshold, raise_at_min_scale, tolerance.
std::span<const PolicyParameter> policy_parameters();

/// The names of those that the policy looks at; a fixed scale has but its init_scale, none nothing.
std::vector<std::string_view> parameters_of(const LossScalePolicy& policy);

/// The policy with its parameters; names that are none of a policy's are passed over. Error for values outside
/// of a parameter's range, for a floor above the cap, and for a scale that would begin beyond either.
LossScalePolicy with_parameters(LossScalePolicy policy, const ScalerParameters& parameters);

}  // namespace binade
