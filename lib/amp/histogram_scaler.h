// SPDX-License-Identifier: Apache-2.0
//
// PopART's automatic loss scaling: a histogram of two bins over the gradients. Where more than a share of them lies
// above an edge below the format's maximum the scale is halved, else doubled: it acts before anything overflows. The
// scale stays finite, also where all gradients are 0 for long.
#pragma once

#include <cstdint>
#include <span>

#include "emulate/format.h"

namespace binade {

struct HistogramOptions {
  float init_scale = 1;
  Format format = binary16;
  double edge = 0.0625;       ///< of the format's largest number (older PopART: 1)
  double upper_share = 1e-7;  ///< more than this share above the edge halves
  std::int64_t period = 1;    ///< updates between two decisions
  float factor = 2;
};

class HistogramScaler {
 public:
  explicit HistogramScaler(const HistogramOptions& options = {});

  float scale() const { return scale_; }
  /// The scaled gradients of a step, tensor by tensor: NaN and Inf count as above the edge.
  void count(std::span<const float> scaled_gradients);
  /// Ends the step; decides where the period is over. PopART always steps.
  void update();

 private:
  HistogramOptions options_;
  float scale_;
  float edge_ = 0;
  std::uint64_t below_ = 0, above_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace binade
