// SPDX-License-Identifier: Apache-2.0
//
// Loss scales per layer: adaptive ones from the backward pass's statistics (Zhao et al. 2019, arXiv 1910.12385; the
// ada-loss code), and one dynamic scaler per layer (fairscale's LayerwiseGradientScaler).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/amp/loss_scaler.h"

namespace binade {

struct AdaptiveOptions {
  double smallest = 6e-8;         ///< u_min: what must not underflow; about binary16's 2^-24
  double largest = 6e4;           ///< u_max: what must not be exceeded
  double underflow_share = 1e-3;  ///< T_uf: share of values that may underflow
  double layer_cap = 16;          ///< largest scale of one layer
  double product_cap = 1024;      ///< largest product of scales on the way back
  std::int64_t interval = 1;      ///< steps between two choices of a layer's scale
};

/// Walks the layers from the loss to the input once per backward pass. The gradient that enters layer i is
/// multiplied by its scale; the product so far is what the layer's weight gradient has to be divided by.
class AdaptiveLayerScaler {
 public:
  explicit AdaptiveLayerScaler(std::size_t layers, const AdaptiveOptions& options = {});

  void begin_step();  ///< a backward pass begins at the loss
  /// Layer i from the input (0), reached from the loss side: its incoming gradient (already carrying the product
  /// so far) and the weights it meets; `terms` of each sum of the product of the two. Returns the scale to
  /// multiply the gradient by, a power of two. Throws Error for a gradient that is not finite.
  float next(std::size_t layer, std::span<const float> gradient, std::span<const float> weights,
             std::size_t terms);
  /// The product of all scales up to and with the layer reached last: divide its weight gradient by it.
  float product() const { return product_; }
  float layer_scale(std::size_t layer) const { return scales_.at(layer); }

 private:
  AdaptiveOptions options_;
  std::vector<float> scales_;
  std::int64_t step_ = -1;
  float product_ = 1;
};

/// One state machine per layer; a layer's inf backs off its own scale and skips its own update.
class LayerwiseScaler {
 public:
  LayerwiseScaler(std::size_t layers, const LossScalePolicy& policy);
  float scale(std::size_t layer) const { return layers_.at(layer).scale(); }
  /// true where the layer's parameters were to step
  bool update(std::size_t layer, bool found_inf) { return layers_.at(layer).update(found_inf); }

 private:
  std::vector<LossScaler> layers_;
};

}  // namespace binade
