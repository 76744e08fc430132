// SPDX-License-Identifier: Apache-2.0
//
// The tables of the parameters of log_max, histogram and adaptive, and the conversion of values by
// name to options.
#include "lib/amp/scaler_options.h"

#include <array>
#include <type_traits>
#include <utility>

namespace binade {
namespace {

constexpr double least_scale = 0x1p-126, largest_scale = 0x1p127;

template <class Options, class Value>
Options owner_of(Value Options::*);

/// Makes the row of a parameter that is the member `place` of the options.
template <auto place, class Options = decltype(owner_of(place))>
constexpr OptionParameter<Options> member(const ScalerParameter& parameter) {
  using Value = std::remove_cvref_t<decltype(std::declval<Options>().*place)>;
  return {parameter, [](Options& o, double x) { o.*place = static_cast<Value>(x); },
          [](const Options& o) { return static_cast<double>(o.*place); }};
}

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
      member<&LogMaxOptions::scale_min>(
          {"min_scale", "", ParameterKind::number, least_scale, largest_scale}),
      member<&LogMaxOptions::scale_max>(
          {"max_scale", "", ParameterKind::number, least_scale, largest_scale}),
      member<&LogMaxOptions::log_max>(
          {"log_max", "log_max: an overflow enters its averages as 2 to the power of this",
           ParameterKind::number, 1, 127}),
      member<&LogMaxOptions::beta1>({"mean_decay", "log_max: decay of the mean of log2 amax",
                                     ParameterKind::number, 0, 0.999999}),
      member<&LogMaxOptions::beta2>({"moment_decay",
                                     "log_max: decay of the second moment of log2 amax",
                                     ParameterKind::number, 0, 0.999999}),
      member<&LogMaxOptions::overflow_std_dev>(
          {"deviations", "log_max: standard deviations from the mean to an overflow",
           ParameterKind::number, 0, 100}),
  }};
  return table;
}

std::span<const OptionParameter<HistogramOptions>> histogram_parameters() {
  static constexpr std::array<OptionParameter<HistogramOptions>, 5> table{{
      member<&HistogramOptions::init_scale>(
          {"init_scale", "", ParameterKind::number, least_scale, largest_scale}),
      member<&HistogramOptions::factor>(
          {"growth_factor", "", ParameterKind::number, 1.0000001, largest_scale}),
      member<&HistogramOptions::edge>(
          {"edge", "histogram: lower end of the upper bin, as a share of the largest number",
           ParameterKind::number, least_scale, 1}),
      member<&HistogramOptions::upper_share>(
          {"upper_share", "histogram: a larger share of values in the upper bin lowers the scale",
           ParameterKind::number, 0, 0.999999}),
      member<&HistogramOptions::period>({"period",
                                         "histogram, adaptive: steps between two decisions",
                                         ParameterKind::whole, 1, 1 << 30}),
  }};
  return table;
}

std::span<const OptionParameter<AdaptiveOptions>> adaptive_parameters() {
  static constexpr std::array<OptionParameter<AdaptiveOptions>, 7> table{{
      member<&AdaptiveOptions::init_scale>(
          {"init_scale", "", ParameterKind::number, least_scale, largest_scale}),
      member<&AdaptiveOptions::smallest>({"smallest",
                                          "adaptive: smaller magnitudes count as underflow (u_min)",
                                          ParameterKind::number, least_scale, 1}),
      member<&AdaptiveOptions::largest>({"largest",
                                         "adaptive: the largest magnitude permitted (u_max)",
                                         ParameterKind::number, 1, largest_scale}),
      member<&AdaptiveOptions::underflow_share>({"underflow_share",
                                                 "adaptive: share of values that may underflow",
                                                 ParameterKind::number, 1e-9, 0.5}),
      member<&AdaptiveOptions::layer_cap>({"layer_cap", "adaptive: largest scale of one layer",
                                           ParameterKind::number, 1, largest_scale}),
      member<&AdaptiveOptions::product_cap>({"product_cap",
                                             "adaptive: largest product of the scales of layers",
                                             ParameterKind::number, 1, largest_scale}),
      member<&AdaptiveOptions::interval>({"period", "", ParameterKind::whole, 1, 1 << 30}),
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
