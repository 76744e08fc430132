// SPDX-License-Identifier: Apache-2.0
//
// The approximate range method: the scale is as large as the permitted share of underflows requires
// and no larger than the largest possible sum allows; it is then capped and rounded down to a power
// of two.
#include "lib/amp/layer_scaler.h"

#include <algorithm>
#include <cmath>

#include "lib/amp/step_statistics.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the mean of the squares, which is the variance plus the squared mean.
double mean_square(const TensorStatistics& s) {
  return s.values == 0 ? 0 : s.sum_of_squares / static_cast<double>(s.values);
}

/// Returns the x with P(|N(0, 1)| < x) = share, which is √2·erf⁻¹(share), by Newton's method, whose
/// steps approach x from below.
double two_sided_quantile(double share) {
  const double slope_at_0 = 2 / std::sqrt(std::acos(-1.0));
  double x = share / slope_at_0;
  for (int i = 0; i < 60; ++i) x -= (std::erf(x) - share) / (slope_at_0 * std::exp(-x * x));
  return std::sqrt(2.0) * x;
}

/// Returns the scale that the layer should have, before caps; 1 for a gradient or weights that are
/// all zero.
double wanted_scale(const TensorStatistics& gradient, const TensorStatistics& weights, double terms,
                    double quantile, const AdaptiveOptions& options) {
  const double sigma =
      std::sqrt(mean_square(gradient) * mean_square(weights)) * std::sqrt(0.5 * terms);
  if (!(sigma > 0)) return 1;
  const double product = static_cast<double>(gradient.amax) * static_cast<double>(weights.amax);
  const double against_underflow = std::max(options.smallest / (quantile * sigma), 1.0);
  return std::min(against_underflow, options.largest / terms / product);
}

}  // namespace

AdaptiveLayerScaler::AdaptiveLayerScaler(const AdaptiveOptions& options)
    : options_(options), normal_quantile_(two_sided_quantile(options.underflow_share)) {
  if (options.interval < 1) throw Error("adaptive loss scale: the interval must be 1 or more");
}

float AdaptiveLayerScaler::next(std::string_view layer, std::span<const float> gradient,
                                std::span<const float> weights, std::size_t terms, float product) {
  auto found = std::ranges::find(
      layers_, layer, [](const AdaptiveLayer& l) -> std::string_view { return l.last.layer; });
  if (found == layers_.end()) {
    layers_.emplace_back().last.layer = layer;
    found = layers_.end() - 1;
  }
  const double so_far = static_cast<double>(product) * options_.init_scale;
  if (found->passes++ % options_.interval == 0) {
    const TensorStatistics of_gradient = statistics_of(gradient);
    const TensorStatistics of_weights = statistics_of(weights);
    const bool is_finite = of_gradient.not_finite + of_weights.not_finite == 0;
    found->wanted = is_finite ? wanted_scale(of_gradient, of_weights, static_cast<double>(terms),
                                             normal_quantile_, options_)
                              : 1;
  }
  const double capped =
      std::min({found->wanted, options_.product_cap / so_far, options_.layer_cap});
  found->last.scale = static_cast<float>(std::exp2(std::floor(std::log2(capped))));
  found->last.product = static_cast<float>(so_far) * found->last.scale;
  return found->last.scale;
}

std::vector<LayerScale> AdaptiveLayerScaler::scales() const {
  std::vector<LayerScale> out;
  for (const AdaptiveLayer& layer : layers_) out.push_back(layer.last);
  return out;
}

float common_scale(float scale_a, float amax_a, float scale_b, float amax_b, double largest) {
  // The larger of the two magnitudes, at scale 1.
  const double amax = std::max(static_cast<double>(amax_a) / static_cast<double>(scale_a),
                               static_cast<double>(amax_b) / static_cast<double>(scale_b));
  const auto fits = [amax, largest](float scale) {
    return amax * static_cast<double>(scale) < largest;
  };
  const auto [smaller, larger] = std::minmax(scale_a, scale_b);
  if (fits(larger)) return larger;
  float scale = smaller;
  while (!fits(scale) && scale >= 0.125F) scale /= 2;
  return scale;
}

}  // namespace binade
