// SPDX-License-Identifier: Apache-2.0
//
// A loss scale for each layer, found anew in each backward pass from what it meets (Zhao, Vogel and Ahmed 2019, arXiv
// 1910.12385; the ada-loss code, ada_loss/core.py with its method approx_range): products of gradient and weight
// are taken for independent, their sums for normally distributed, half of the terms being zero behind a ReLU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace binade {

struct AdaptiveOptions {
  double init_scale = 1;          ///< of the loss itself
  double smallest = 6e-8;         ///< u_min: what must not underflow; about binary16's 2^-24
  double largest = 65504;         ///< u_max: what must not be exceeded
  double underflow_share = 1e-3;  ///< n_uf_threshold: share of values that may underflow
  double layer_cap = 16;          ///< scale_upper_bound: largest scale of one layer
  double product_cap = 1024;      ///< accum_upper_bound: largest product of scales on the way back
  std::int64_t interval = 1;  ///< backward passes of a layer between two looks at its statistics
};

/// What a layer got last.
struct LayerScale {
  std::string layer;
  float scale = 1;
  float product = 1;  ///< of all scales from the loss up to it, its own and the loss's included
};

/// What is remembered of a layer.
struct AdaptiveLayer {
  LayerScale last;
  std::int64_t passes = 0;
  double wanted = 1;  ///< before caps
};

/// Asked once per layer and backward pass for the factor of the gradient that meets the layer's weights on the way to
/// its input. The gradients of the weights themselves come from the gradient before that factor.
class AdaptiveLayerScaler {
 public:
  explicit AdaptiveLayerScaler(const AdaptiveOptions& options = {});

  /// A power of two. `gradient` already carries `product` times the loss's scale; `terms` is the length of the sums
  /// of gradient and weights. 1 for a gradient or weights that are not finite: the step is skipped by others.
  float next(std::string_view layer, std::span<const float> gradient,
             std::span<const float> weights, std::size_t terms, float product);
  /// By layer, in the order in which the backward pass met them first.
  std::vector<LayerScale> scales() const;
  const AdaptiveOptions& options() const { return options_; }

  const std::vector<AdaptiveLayer>& state() const { return layers_; }
  void set_state(std::vector<AdaptiveLayer> layers) { layers_ = std::move(layers); }

 private:
  AdaptiveOptions options_;
  double normal_quantile_;  ///< of the share of values that may underflow
  std::vector<AdaptiveLayer> layers_;
};

/// Two gradients of one value that carry different scales are added at the larger of them that keeps both below
/// `largest`, else at the smaller one, halved until it does or lies below 2^-3 (the ada-loss code's rescaling, which
/// raises an error then; here the step is skipped). `amax` are the magnitudes that the gradients have at their scales.
float common_scale(float scale_a, float amax_a, float scale_b, float amax_b, double largest);

}  // namespace binade
