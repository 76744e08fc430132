// SPDX-License-Identifier: Apache-2.0
//
// A loss scale for each layer, computed in each backward pass from the statistics of the layer's
// gradient and weights (Zhao, Vogel and Ahmed 2019, arXiv 1910.12385; the ada-loss code,
// ada_loss/core.py, method approx_range). The method assumes that the products of gradient and
// weight are independent, that their sums are normally distributed, and that half of the terms are
// zero, as behind a ReLU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace binade {

struct AdaptiveOptions {
  double init_scale = 1;          ///< scale of the loss itself
  double smallest = 6e-8;         ///< u_min: smaller magnitudes underflow; about binary16's 2^-24
  double largest = 65504;         ///< u_max: no magnitude may exceed it
  double underflow_share = 1e-3;  ///< n_uf_threshold: share of values that may underflow
  double layer_cap = 16;          ///< scale_upper_bound: largest scale of one layer
  double product_cap = 1024;  ///< accum_upper_bound: largest product of scales, the loss's included
  std::int64_t interval = 1;  ///< statistics of a layer are taken every so many backward passes
};

/// The scale that a layer got last.
struct LayerScale {
  std::string layer;
  float scale = 1;
  float product = 1;  ///< of all scales from the loss to this layer, both included
};

/// The state of one layer.
struct AdaptiveLayer {
  LayerScale last;
  std::int64_t passes = 0;
  double wanted = 1;  ///< the scale before the caps
};

/// Computes, once per layer and backward pass, the factor by which the gradient of the layer's
/// output is multiplied before it and the weights give the gradient of the layer's input. The
/// gradient of the weights is computed without that factor. The constructor throws Error if the
/// interval is less than 1.
class AdaptiveLayerScaler {
 public:
  explicit AdaptiveLayerScaler(const AdaptiveOptions& options = {});

  /// Returns the layer's factor, a power of two. `gradient` is already scaled by `product` times
  /// the scale of the loss; `terms` is the number of terms in each sum of the product of gradient
  /// and weights. For a gradient or weights that are all zero or not finite the factor before the
  /// caps is 1; whoever checks the gradients skips the step.
  float next(std::string_view layer, std::span<const float> gradient,
             std::span<const float> weights, std::size_t terms, float product);
  /// Returns the last scale of each layer, in the order in which the first backward pass met the
  /// layers.
  std::vector<LayerScale> scales() const;
  const AdaptiveOptions& options() const { return options_; }

  const std::vector<AdaptiveLayer>& state() const { return layers_; }
  void set_state(std::vector<AdaptiveLayer> layers) { layers_ = std::move(layers); }

 private:
  AdaptiveOptions options_;
  double normal_quantile_;  ///< q with P(|N(0, 1)| < q) = underflow_share
  std::vector<AdaptiveLayer> layers_;
};

/// Returns the scale at which two gradients of one value with different scales are added: the
/// larger scale if both stay below `largest` at it, else the smaller one, halved until they do or
/// until it is below 2^-3. (This is the rescaling of the ada-loss code, which raises an error below
/// 2^-3; here the step is skipped then.) amax_a and amax_b are the largest magnitudes of the
/// gradients at their present scales.
float common_scale(float scale_a, float amax_a, float scale_b, float amax_b, double largest);

}  // namespace binade
