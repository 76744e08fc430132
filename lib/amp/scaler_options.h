// SPDX-License-Identifier: Apache-2.0
//
// The parameters that users can set of the loss scalers that look at gradients (log_max, histogram,
// adaptive); policy_parameters.h has those of the others.
#pragma once

#include <span>

#include "lib/amp/histogram_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/policy_parameters.h"

namespace binade {

/// One parameter of such a scaler, which is a member of its Options.
template <class Options>
struct OptionParameter : ScalerParameter {
  void (*set)(Options& options, double value);
  double (*get)(const Options& options);
};

std::span<const OptionParameter<LogMaxOptions>> log_max_parameters();
std::span<const OptionParameter<HistogramOptions>> histogram_parameters();
std::span<const OptionParameter<AdaptiveOptions>> adaptive_parameters();

/// Return the default options with the given values set; names that the scaler does not have are
/// ignored. They throw Error for a value outside of its parameter's range; log_max_options also for
/// a min_scale above max_scale.
LogMaxOptions log_max_options(const ScalerParameters& parameters);
HistogramOptions histogram_options(const ScalerParameters& parameters);
AdaptiveOptions adaptive_options(const ScalerParameters& parameters);

}  // namespace binade
