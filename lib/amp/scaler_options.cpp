// SPDX-License-Identifier: Apache-2.0
//
// The tables, and reading options from values by name.
#include "lib/amp/scaler_options.h"

#include <array>

namespace binade {
namespace {

constexpr double least_scale = 0x1p-126, largest_scale = 0x1p127;

template <class Options>
Options options_of(std::span<const OptionParameter<Options>> table,
                   const ScalerParameters& parameters) {
  Options options;
  for (const OptionParameter<Options>& option : table) {
    const auto given = parameters.find(option.name);
    if (given == parameters.end()) continue;
    check_parameter(option, given->second);
    option.set(options, given->second);
  }
  return options;
}

}  // namespace

std::span<const OptionParameter<LogMaxOptions>> log_max_parameters() {
  static constexpr std::array<OptionParameter<LogMaxOptions>, 6> table{{
      {{"min_scale", "", ParameterKind::number, least_scale, largest_scale},
       [](LogMaxOptions& o, double x) { o.scale_min = static_cast<float>(x); },
       [](const LogMaxOptions& o) { return static_cast<double>(o.scale_min); }},
      {{"max_scale", "", ParameterKind::number, least_scale, largest_scale},
       [](LogMaxOptions& o, double x) { o.scale_max = static_cast<float>(x); },
       [](const LogMaxOptions& o) { return static_cast<double>(o.scale_max); }},
      {{"log_max", "log_max's: log2 amax that an overflow counts as", ParameterKind::number, 1,
        127},
       [](LogMaxOptions& o, double x) { o.log_max = static_cast<float>(x); },
       [](const LogMaxOptions& o) { return static_cast<double>(o.log_max); }},
      {{"mean_decay", "log_max's: of the mean of log2 amax", ParameterKind::number, 0, 0.999999},
       [](LogMaxOptions& o, double x) { o.beta1 = x; },
       [](const LogMaxOptions& o) { return static_cast<double>(o.beta1); }},
      {{"moment_decay", "log_max's: of its second moment", ParameterKind::number, 0, 0.999999},
       [](LogMaxOptions& o, double x) { o.beta2 = x; },
       [](const LogMaxOptions& o) { return static_cast<double>(o.beta2); }},
      {{"deviations", "log_max's: from the mean up to an overflow", ParameterKind::number, 0, 100},
       [](LogMaxOptions& o, double x) { o.overflow_std_dev = static_cast<float>(x); },
       [](const LogMaxOptions& o) { return static_cast<double>(o.overflow_std_dev); }},
  }};
  return table;
}

std::span<const OptionParameter<HistogramOptions>> histogram_parameters() {
  static constexpr std::array<OptionParameter<HistogramOptions>, 5> table{{
      {{"init_scale", "", ParameterKind::number, least_scale, largest_scale},
       [](HistogramOptions& o, double x) { o.init_scale = static_cast<float>(x); },
       [](const HistogramOptions& o) { return static_cast<double>(o.init_scale); }},
      {{"growth_factor", "", ParameterKind::number, 1.0000001, largest_scale},
       [](HistogramOptions& o, double x) { o.factor = static_cast<float>(x); },
       [](const HistogramOptions& o) { return static_cast<double>(o.factor); }},
      {{"edge", "histogram's: of the largest number, where the upper bin begins",
        ParameterKind::number, least_scale, 1},
       [](HistogramOptions& o, double x) { o.edge = x; },
       [](const HistogramOptions& o) { return static_cast<double>(o.edge); }},
      {{"upper_share", "histogram's: a larger share in the upper bin halves", ParameterKind::number,
        0, 0.999999},
       [](HistogramOptions& o, double x) { o.upper_share = x; },
       [](const HistogramOptions& o) { return static_cast<double>(o.upper_share); }},
      {{"period", "histogram's, adaptive's: steps between two decisions", ParameterKind::whole, 1,
        1 << 30},
       [](HistogramOptions& o, double x) { o.period = static_cast<std::int64_t>(x); },
       [](const HistogramOptions& o) { return static_cast<double>(o.period); }},
  }};
  return table;
}

std::span<const OptionParameter<AdaptiveOptions>> adaptive_parameters() {
  static constexpr std::array<OptionParameter<AdaptiveOptions>, 7> table{{
      {{"init_scale", "", ParameterKind::number, least_scale, largest_scale},
       [](AdaptiveOptions& o, double x) { o.init_scale = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.init_scale); }},
      {{"smallest", "adaptive's u_min: what must not underflow", ParameterKind::number, least_scale,
        1},
       [](AdaptiveOptions& o, double x) { o.smallest = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.smallest); }},
      {{"largest", "adaptive's u_max: what must not be exceeded", ParameterKind::number, 1,
        largest_scale},
       [](AdaptiveOptions& o, double x) { o.largest = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.largest); }},
      {{"underflow_share", "adaptive's: of values that may underflow", ParameterKind::number, 1e-9,
        0.5},
       [](AdaptiveOptions& o, double x) { o.underflow_share = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.underflow_share); }},
      {{"layer_cap", "adaptive's: largest scale of one layer", ParameterKind::number, 1,
        largest_scale},
       [](AdaptiveOptions& o, double x) { o.layer_cap = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.layer_cap); }},
      {{"product_cap", "adaptive's: largest product of scales", ParameterKind::number, 1,
        largest_scale},
       [](AdaptiveOptions& o, double x) { o.product_cap = x; },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.product_cap); }},
      {{"period", "", ParameterKind::whole, 1, 1 << 30},
       [](AdaptiveOptions& o, double x) { o.interval = static_cast<std::int64_t>(x); },
       [](const AdaptiveOptions& o) { return static_cast<double>(o.interval); }},
  }};
  return table;
}

LogMaxOptions log_max_options(const ScalerParameters& parameters) {
  const LogMaxOptions o = options_of(log_max_parameters(), parameters);
  check_ends(static_cast<double>(o.scale_min), static_cast<double>(o.scale_max));
  return o;
}

HistogramOptions histogram_options(const ScalerParameters& parameters) {
  return options_of(histogram_parameters(), parameters);
}

AdaptiveOptions adaptive_options(const ScalerParameters& parameters) {
  return options_of(adaptive_parameters(), parameters);
}

}  // namespace binade
