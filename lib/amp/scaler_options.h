// SPDX-License-Identifier: Apache-2.0
//
// What of the loss scalers that look at gradients can be set, by names; as policy_parameters.h has it for the others.
#pragma once

#include <span>

#include "lib/amp/histogram_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/policy_parameters.h"

namespace binade {

template <class Options>
struct OptionParameter : ScalerParameter {
  void (*set)(Options& options, double value);
  double (*get)(const Options& options);
};

std::span<const OptionParameter<LogMaxOptions>> log_max_parameters();
std::span<const OptionParameter<HistogramOptions>> histogram_parameters();
std::span<const OptionParameter<AdaptiveOptions>> adaptive_parameters();

/// The defaults with these parameters; names that are none of the scaler's are passed over. Error for values outside of a
/// parameter's range, and for a least scale above the largest.
LogMaxOptions log_max_options(const ScalerParameters& parameters);
HistogramOptions histogram_options(const ScalerParameters& parameters);
AdaptiveOptions adaptive_options(const ScalerParameters& parameters);

}  // namespace binade
