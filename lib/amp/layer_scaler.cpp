// SPDX-License-Identifier: Apache-2.0
//
// The approximate range method of the ada-loss code: products of gradient and weight are taken for independent
// and their sums for normally distributed, half of the terms being zero behind a ReLU.
#include "lib/amp/layer_scaler.h"

#include <algorithm>
#include <cmath>

#include "lib/amp/step_statistics.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

/// Mean of squares, which is variance plus squared mean.
double mean_square(const TensorStatistics& s) {
  return s.values == 0 ? 0 : s.sum_of_squares / static_cast<double>(s.values);
}

/// What the layer would like, before caps: as large as the share of underflows asks, no larger than the largest
/// possible sum allows.
double wanted_scale(const TensorStatistics& gradient, const TensorStatistics& weights, double terms,
                    const AdaptiveOptions& options) {
  const double sigma =
      std::sqrt(mean_square(gradient) * mean_square(weights)) * std::sqrt(0.5 * terms);
  const double product = static_cast<double>(gradient.amax) * static_cast<double>(weights.amax);
  if (!(sigma > 0) || !(product > 0)) return 1;
  const double against_underflow =
      std::max(options.smallest / (options.underflow_share * sigma), 1.0);
  const double against_overflow = options.largest / terms / product;
  return std::min(against_underflow, against_overflow);
}

}  // namespace

AdaptiveLayerScaler::AdaptiveLayerScaler(std::size_t layers, const AdaptiveOptions& options)
    : options_(options), scales_(layers, 1.0F) {
  if (options.interval < 1) throw Error("adaptive loss scale: the interval must be 1 or more");
}

void AdaptiveLayerScaler::begin_step() {
  ++step_;
  product_ = 1;
}

float AdaptiveLayerScaler::next(std::size_t layer, std::span<const float> gradient,
                                std::span<const float> weights, std::size_t terms) {
  float& scale = scales_.at(layer);
  if (step_ % options_.interval == 0) {
    const TensorStatistics of_gradient = statistics_of(gradient);
    const TensorStatistics of_weights = statistics_of(weights);
    if (of_gradient.not_finite + of_weights.not_finite > 0) {
      throw Error(
          "adaptive loss scale: a gradient or weight is not finite; lower the caps or the initial "
          "loss scale");
    }
    double wanted = wanted_scale(of_gradient, of_weights, static_cast<double>(terms), options_);
    wanted = std::min(
        {wanted, options_.product_cap / static_cast<double>(product_), options_.layer_cap});
    scale = static_cast<float>(std::exp2(std::floor(std::log2(wanted))));
  }
  product_ *= scale;
  return scale;
}

LayerwiseScaler::LayerwiseScaler(std::size_t layers, const LossScalePolicy& policy)
    : layers_(layers, LossScaler(policy)) {}

}  // namespace binade
