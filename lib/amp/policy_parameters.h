// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a loss scale policy that users can set, with one name for all frameworks. They
// comprise the constructor arguments of the original classes, and numbers that the originals keep
// fixed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/amp/loss_scaler.h"

namespace binade {

/// Values of parameters by name; a truth value is 0 or 1.
using ScalerParameters = std::map<std::string, double, std::less<>>;

enum class ParameterKind : std::uint8_t { number, whole, truth };

/// One parameter of a scaler.
struct ScalerParameter {
  std::string_view name, what;
  ParameterKind kind;
  double least, most;  ///< the ends of its range, both permitted
};

/// One parameter of a loss scale policy.
struct PolicyParameter : ScalerParameter {
  void (*set)(LossScalePolicy& policy, double value);
  std::optional<double> (*get)(
      const LossScalePolicy& policy);  ///< none: the policy has no such limit
};

/// Throws Error if the value is outside of the parameter's range or NaN.
void check_parameter(const ScalerParameter& parameter, double value);
/// Throws Error if min_scale is above max_scale.
void check_ends(double min_scale, double max_scale);

/// Returns the table: init_scale, growth_factor, backoff_factor, growth_interval, hysteresis,
/// consecutive_hysteresis, min_scale, max_scale, threshold, raise_at_min_scale, tolerance.
std::span<const PolicyParameter> policy_parameters();

/// Returns the names of the parameters that the policy reads: for a scale that never changes only
/// init_scale, for the policy none no parameter.
std::vector<std::string_view> parameters_of(const LossScalePolicy& policy);

/// Returns the policy with the given values set; names that are not in policy_parameters() are
/// ignored. Throws Error for a value outside of its parameter's range, for a backoff_factor of 1,
/// for a floor above the cap, for an initial scale below a given min_scale or above the cap (unless
/// the policy caps it), and for raise_at_min_scale without a min_scale.
LossScalePolicy with_parameters(LossScalePolicy policy, const ScalerParameters& parameters);

}  // namespace binade
